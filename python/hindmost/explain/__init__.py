"""``hindmost explain``: finds the origin of a slow tail and confirms a gain, in one study."""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package shares its name with the function for Python users, so the package is callable."""

    def __call__(self, *words: Any, **options: Any) -> Any:  # noqa: ANN401 (as of the function)
        from hindmost.explain.result import explain

        return explain(*words, **options)


sys.modules[__name__].__class__ = _Callable
