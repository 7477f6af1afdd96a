"""What is used of LangChain and LangGraph; the only module here that imports them."""

from seasoned.errors import MissingExtra

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ModelCallResult, OmitFromInput, PrivateStateAttr
    from langchain.chat_models import BaseChatModel, init_chat_model
    from langchain.tools import ToolRuntime
    from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.runnables import Runnable, RunnableConfig
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
    from langgraph.config import get_config
    from langgraph.constants import TAG_NOSTREAM
    from langgraph.errors import GraphBubbleUp
    from langgraph.runtime import Runtime
    from langgraph.store.base import BaseStore, GetOp, Op, PutOp, SearchOp
    from langgraph.types import Overwrite
except ImportError as error:
    raise MissingExtra("langchain", "langchain") from error

try:  # since langchain 1.4
    from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer, internal_call_metadata
    from langchain.agents.middleware.types import TracePolicy, omit_payload

    INTERNAL: dict[str, object] = internal_call_metadata()
    """What marks a call of a model as none of the agent's own."""
    TRANSFORMERS: tuple[type[InternalCallTransformer], ...] = (InternalCallTransformer,)
    """What keeps such calls out of the messages of a stream."""
    NO_PAYLOAD: TracePolicy | None = TracePolicy(process_inputs=omit_payload)
    """Keeps the conversation out of what is traced of a hook."""
except ImportError:
    INTERNAL, TRANSFORMERS, NO_PAYLOAD = {}, (), None

__all__ = [
    "INTERNAL",
    "NO_PAYLOAD",
    "TAG_NOSTREAM",
    "TRANSFORMERS",
    "AIMessage",
    "AgentMiddleware",
    "AgentState",
    "AnyMessage",
    "BaseChatModel",
    "BaseMessage",
    "BaseStore",
    "BaseTool",
    "GetOp",
    "GraphBubbleUp",
    "HumanMessage",
    "ModelCallResult",
    "ModelRequest",
    "ModelResponse",
    "OmitFromInput",
    "Op",
    "Overwrite",
    "PrivateStateAttr",
    "PutOp",
    "Runnable",
    "RunnableConfig",
    "Runtime",
    "SearchOp",
    "StructuredTool",
    "SystemMessage",
    "ToolException",
    "ToolMessage",
    "ToolRuntime",
    "get_config",
    "init_chat_model",
]
