"""Levels of one setting, compared with its present level; the best level, and levels near it."""

from hindmost.commands.compare.setting.answer import answer
from hindmost.commands.compare.setting.request import (
    SettingRequest,
    open_new,
    parse_setting,
    parse_what,
    reopen,
)

__all__ = ["SettingRequest", "answer", "open_new", "parse_setting", "parse_what", "reopen"]
