"""Settings (TOML), accounts, secrets (keyring), and the folders they live in."""

from botpsy_tui.config.accounts import AccountSettings
from botpsy_tui.config.files import write_private
from botpsy_tui.config.folders import cache_folder, config_folder, data_folder, policy_path
from botpsy_tui.config.secrets import read_secret, remove_secret, store_secret
from botpsy_tui.config.settings import (
    EngineSettings,
    NoticeSettings,
    Settings,
    SettingsProblem,
    endpoint_account,
    load_settings,
    settings_path,
)
from botpsy_tui.config.writing import add_account, change_engine, remove_account

__all__ = [
    "AccountSettings",
    "EngineSettings",
    "NoticeSettings",
    "Settings",
    "SettingsProblem",
    "add_account",
    "cache_folder",
    "change_engine",
    "config_folder",
    "data_folder",
    "endpoint_account",
    "load_settings",
    "policy_path",
    "read_secret",
    "remove_account",
    "remove_secret",
    "settings_path",
    "store_secret",
    "write_private",
]
