"""The site of the documentation has every page and every public name; `make docs` itself fails on any warning."""

import importlib.util
import re
from pathlib import Path

import hindmost

ROOT = Path(__file__).parents[2]


def configuration():
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs/site/conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_and_notebook_stands_in_the_table_of_contents():
    listed = re.findall(r"^[\w-]+(?:/[\w-]+)?$", configuration().contents(), re.MULTILINE)
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in (".md", ".ipynb")
    }
    assert sorted(listed) == sorted(pages - {"README"})


def test_the_reference_of_python_has_every_public_name():
    told = re.findall(
        r"^\.\. auto\w+:: hindmost\.(?:\w+\.)*(\w+)$", configuration().python_reference(), re.MULTILINE
    )
    assert set(hindmost.__all__) - {"clone"} <= set(told)
    assert set(hindmost.clone.__all__) <= set(told)


def test_the_site_asks_no_network_for_anything():
    text = (ROOT / "docs/site/conf.py").read_text(encoding="utf-8")
    assert "html_js_files" not in text
    assert not [name for name in configuration().html_css_files if "//" in name]
    assert configuration().nb_execution_mode == "off"


def test_a_link_out_of_the_docs_becomes_the_name_of_the_file():
    source = ["[a file](../../schemas), [a page](measure.md), [away](https://example.org)"]
    configuration().read(None, "guides/python", source)
    assert source[0] == "a file (`schemas`), [a page](measure.md), [away](https://example.org)"


def test_make_docs_builds_it_with_its_own_pinned_tools():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\n.stamps/docs: requirements-docs.lock" in makefile
    assert re.search(r"^docs: .*\.stamps/docs .*## \S", makefile, re.MULTILINE)
    assert "-W" in (ROOT / "setup/docs.sh").read_text(encoding="utf-8")
    pinned = (ROOT / "requirements-docs.lock").read_text(encoding="utf-8").lower()
    assert all(re.search(rf"^{name}==", pinned, re.MULTILINE) for name in ("sphinx", "furo", "myst-nb"))
    test = re.search(r"^test: (.*) ##", makefile, re.MULTILINE)
    assert test is not None
    assert ".stamps/docs" not in test[1], "make test does not install them"
