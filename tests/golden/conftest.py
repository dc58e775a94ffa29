"""Parse commands in this process at a fraction of the usual cost."""

from collections.abc import Iterator

import pytest
from parsing import keep_options


@pytest.fixture(scope="session", autouse=True)
def kept_options() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        keep_options(patch)
        yield
