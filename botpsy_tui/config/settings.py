"""The settings file: what it may say, and one clear sentence where it says something else."""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from botpsy_tui.config.accounts import ENDPOINT, AccountSettings
from botpsy_tui.config.addresses import checked_endpoint, stays_safe
from botpsy_tui.config.folders import config_folder
from botpsy_tui.engine.types import CHECKPOINT_BYTES, KvType, Thinking


class SettingsProblem(Exception):
    """The settings file can't be used; the message names the place in it."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EngineSettings(_Section):
    """How the model runs."""

    context: Annotated[int, Field(ge=1024, le=262_144)] = 8192
    """Tokens a conversation may grow to."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads that decode; 0 for as many as there are cores."""
    kv_type: KvType = "f16"
    """How the conversation's keys and values are kept; ``q8_0`` takes half the memory, and a little speed."""
    mmap: bool = True
    """Read the model from its file as it is needed, shared with other programs; else copy it to memory."""
    cache_mb: Annotated[int, Field(ge=0, le=65_536)] = CHECKPOINT_BYTES // 1_000_000
    """Megabytes for states to go back to, where a model's memory can't be cut; 0 reads everything again."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """How freely the next token is chosen; 0 is always the likeliest. Unset: as the model recommends."""
    top_k: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Choose among this many likeliest tokens only; 0 is all."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    """Choose among the likeliest tokens that have this probability together."""
    min_p: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Leave out tokens less likely than this share of the likeliest one."""
    repeat_penalty: Annotated[float, Field(ge=0.5, le=2)] | None = None
    """Make tokens that were just written less likely; 1 is not at all. Never in calls."""
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    """The same, by a fixed amount; 0 is not at all. Never in calls."""
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    """The same, by an amount for each time; 0 is not at all. Never in calls."""
    seed: Annotated[int, Field(ge=0, lt=2**32 - 1)] | None = None
    """The same seed gives the same text to the same words; unset is a new one each time."""
    thinking: Thinking = "auto"
    """Let the model reason before it answers; ``auto``: where that makes it better.

    ``true`` and ``false`` are read as on and off.
    """
    reasoning_tokens: Annotated[int, Field(ge=16, le=32_768)] = 512
    """Tokens the model may reason for; then the answer begins."""
    endpoint: str = ""
    """A model that runs elsewhere: an OpenAI-compatible address, such as ``http://127.0.0.1:8080/v1``."""
    endpoint_model: str = ""
    """The model there; may be left out where there is only one."""
    endpoint_key: Literal["none", "keyring"] = "none"
    """``keyring``: the endpoint's API key lies in the keyring."""
    endpoint_key_command: list[str] | None = None
    """Or a program and its arguments that print the key."""
    endpoint_key_env: str | None = None
    """Or the name of an environment variable that holds it."""
    endpoint_insecure: bool = False
    """Talk to another machine without encryption: everyone on the way can read and change all of it."""
    endpoint_timeout: Annotated[int, Field(ge=5, le=3600)] = 300
    """Seconds the endpoint may say nothing before it is given up."""

    @property
    def checkpoint_bytes(self) -> int:
        """`cache_mb` in bytes."""
        return self.cache_mb * 1_000_000

    @field_validator("thinking", mode="before")
    @classmethod
    def _switch_as_word(cls, value: object) -> object:
        return {True: "on", False: "off"}[value] if isinstance(value, bool) else value

    @field_validator("endpoint")
    @classmethod
    def _an_address(cls, value: str) -> str:
        return checked_endpoint(value) if value else ""

    @model_validator(mode="after")
    def _safe_on_the_way(self) -> "EngineSettings":
        if self.endpoint and not self.endpoint_insecure and not stays_safe(self.endpoint):
            raise ValueError(
                f"{urlsplit(self.endpoint).hostname} is another machine, and http is not encrypted: "
                "use https, or set endpoint_insecure = true where the network is your own"
            )
        return self


class ApprovalSettings(_Section):
    """What happens around your yes."""

    outbox_seconds: Annotated[int, Field(ge=0, le=86_400)] = 30
    """Seconds that an approved mail waits in the outbox, where you can still take it back; 0 is none."""


class NoticeSettings(_Section):
    """How you are called while a call waits for your decision."""

    bell: bool = True
    """Ring the terminal's bell."""
    desktop: bool = True
    """Ask the terminal for a notification (OSC 9) while its window is not the one you are in."""
    title: bool = True
    """Say it in the window's title."""


class Settings(_Section):
    """Everything the settings file may hold."""

    timezone: str | None = None
    """Your time zone, such as ``Europe/Berlin``; unset, the machine's."""
    engine: EngineSettings = EngineSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    notice: NoticeSettings = NoticeSettings()
    accounts: list[AccountSettings] = []
    plugins: dict[str, dict[str, Any]] = {}
    """A table for each plugin, such as ``[plugins.calendar]``."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (KeyError, OSError, ValueError) as error:
                raise ValueError(
                    f"there is no time zone {value!r}; write one such as Europe/Berlin"
                ) from error
        return value

    @field_validator("accounts")
    @classmethod
    def _names_once(cls, value: list[AccountSettings]) -> list[AccountSettings]:
        names = [account.name for account in value]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two accounts are named {name!r}; each needs a name of its own")
        return value


def endpoint_account(engine: EngineSettings) -> AccountSettings | None:
    """Return what names the endpoint's API key for `read_secret`, or None where it needs none."""
    if not (engine.endpoint_key_command or engine.endpoint_key_env or engine.endpoint_key == "keyring"):
        return None
    return AccountSettings(
        name=re.sub(r"[^A-Za-z0-9._-]", "-", urlsplit(engine.endpoint).netloc).strip("-"),
        kind=ENDPOINT,
        password_command=engine.endpoint_key_command,
        password_env=engine.endpoint_key_env,
    )


def settings_path() -> Path:
    """Return where the settings file is, or would be."""
    return config_folder() / "settings.toml"


def load_settings(path: Path | None = None) -> Settings:
    """Read the settings; a missing file is the defaults. Raises `SettingsProblem`."""
    path = path or settings_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsProblem(f"The settings {path} can't be read: {error}.") from error
    try:
        return Settings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsProblem(f"The settings {path} are not valid TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsProblem(f"The settings {path} are wrong at {place}: {first['msg']}.") from error
