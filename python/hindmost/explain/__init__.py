"""``hindmost explain``: from a slow tail to a confirmed gain, in one study."""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package and the function of Python users have one name, so the package can be called."""

    def __call__(self, *words: Any, **options: Any) -> Any:  # noqa: ANN401 (as of the function)
        from hindmost.explain.result import explain

        return explain(*words, **options)


sys.modules[__name__].__class__ = _Callable
