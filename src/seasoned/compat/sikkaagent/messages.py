"""`BaseMessage`: one message with its images, and what belongs to it besides."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from seasoned.compat.sikkaagent.images import ImageSource, image_url
from seasoned.errors import InvalidInput, WrongType
from seasoned.records import JSON, clean_json, clean_text

DETAILS: Final = ("auto", "low", "high")
"""How closely a model looks at an image."""


@dataclass(frozen=True, slots=True)
class BaseMessage:
    """What somebody says: a text, the name of who says it, and images.

    `images` are given as paths, bytes or URLs, and kept as URLs: data URLs in base64, addresses on the web as they
    are. Those of a user are sent to the model; others are kept. `meta` is plain JSON: what goes with the message in
    OpenAI's form stands there (`tool_calls` of an assistant, `tool_call_id` of a tool's result, `name`), and whatever
    else is yours, which no model sees. NUL and lone surrogates become U+FFFD.

    Raises:
        InvalidInput: an image that is none, another `image_detail`, or `meta` that is not plain JSON.
        WrongType: a value of another type.
    """

    content: str
    role_name: str = ""
    images: Sequence[ImageSource] = ()
    image_detail: str = "auto"
    meta: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", "" if self.content is None else _text(self.content, "content"))
        object.__setattr__(self, "role_name", _text(self.role_name, "role_name"))
        object.__setattr__(self, "images", tuple(image_url(image) for image in _several(self.images)))
        detail = self.image_detail
        if detail not in DETAILS:
            raise InvalidInput(f"image_detail is one of {', '.join(DETAILS)}, not {detail!r}")
        object.__setattr__(self, "image_detail", str(detail))
        object.__setattr__(self, "meta", plain(self.meta, "meta"))

    @property
    def image_urls(self) -> tuple[str, ...]:
        """The images as the URLs that they are kept as."""
        return tuple(str(image) for image in self.images)


def plain(given: object, what: str) -> Mapping[str, JSON]:
    """Return a deep copy of an object of plain JSON, {} for None.

    Raises:
        InvalidInput, WrongType: it is not.
    """
    if given is not None and not isinstance(given, Mapping):
        raise WrongType(f"{what} is an object of plain JSON, not {given!r:.80}")
    copied = clean_json(given or {})
    assert isinstance(copied, dict)  # noqa: S101  # a mapping gives a dict
    return copied


def _text(given: object, what: str) -> str:
    if not isinstance(given, str):
        raise WrongType(f"{what} is a string, not {given!r:.80}")
    return clean_text(str(given))


def _several(images: object) -> Sequence[ImageSource]:
    if images is None:
        return ()
    if isinstance(images, (str, bytes, os.PathLike)):
        return (images,)
    if not isinstance(images, Sequence):
        raise WrongType(f"images are a list of paths, bytes or URLs, not {images!r:.80}")
    return images
