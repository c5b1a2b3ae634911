"""Environments for training language-model agents, and the token-first protocol that records what they do.

In: nothing. Out: the hub's public names; importing registers the environments' ids with Gymnasium, as data.
"""

from molt_envs.catalog import EnvEntry
from molt_envs.env import IMAGE_METADATA, ActionGrammar, AgentEnv, EnvCard, Task, TextEnv, Turn
from molt_envs.errors import (
    Boundary,
    DataError,
    EpisodeDone,
    Failure,
    InfrastructureError,
    PolicyError,
    ProtocolError,
    TaskError,
    UnknownEnvError,
    boundary,
)
from molt_envs.history import Full, History, Summary, Window
from molt_envs.policy import FixedScript, Policy, RandomAdmissible
from molt_envs.protocol.episode import (
    COMPLETED,
    NOT_SAMPLED,
    PROTOCOL_VERSION,
    TRAINABLE,
    Episode,
    ImageSpan,
    Outcome,
    SamplingRecord,
    Segment,
    StopReason,
)
from molt_envs.protocol.images import Image, ImageObservation, Observation, describe, images_of, text_of
from molt_envs.protocol.messages import Message, Role, ToolCall, ToolSchema
from molt_envs.protocol.wire import (
    episode_from_json,
    episode_from_msgpack,
    episode_to_json,
    episode_to_msgpack,
    read_episodes,
    write_episodes,
)
from molt_envs.recorder import EpisodeRecorder
from molt_envs.registry import PluginWarning, entries, register_all, resolve
from molt_envs.rendering import ByteRenderer, Renderer, parse_call
from molt_envs.spaces import UnicodeText
from molt_envs.token_env import TokenEnv, TokenStep

__version__ = "0.1.0"

__all__ = [
    "COMPLETED",
    "IMAGE_METADATA",
    "NOT_SAMPLED",
    "PROTOCOL_VERSION",
    "TRAINABLE",
    "ActionGrammar",
    "AgentEnv",
    "Boundary",
    "ByteRenderer",
    "DataError",
    "EnvCard",
    "EnvEntry",
    "Episode",
    "EpisodeDone",
    "EpisodeRecorder",
    "Failure",
    "FixedScript",
    "Full",
    "History",
    "Image",
    "ImageObservation",
    "ImageSpan",
    "InfrastructureError",
    "Message",
    "Observation",
    "Outcome",
    "PluginWarning",
    "Policy",
    "PolicyError",
    "ProtocolError",
    "RandomAdmissible",
    "Renderer",
    "Role",
    "SamplingRecord",
    "Segment",
    "StopReason",
    "Summary",
    "Task",
    "TaskError",
    "TextEnv",
    "TokenEnv",
    "TokenStep",
    "ToolCall",
    "ToolSchema",
    "Turn",
    "UnicodeText",
    "UnknownEnvError",
    "Window",
    "boundary",
    "describe",
    "entries",
    "episode_from_json",
    "episode_from_msgpack",
    "episode_to_json",
    "episode_to_msgpack",
    "images_of",
    "parse_call",
    "read_episodes",
    "register_all",
    "resolve",
    "text_of",
    "write_episodes",
]

register_all()
