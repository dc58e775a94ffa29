"""The documentation site has every page and every public name; `make docs` fails on any warning."""

import importlib.util
import re
from pathlib import Path

from schemas import texts

import hindmost

ROOT = Path(__file__).parents[2]


def load_configuration():
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs/site/conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_contents_lists_every_page_and_notebook():
    listed = re.findall(r"^[\w-]+(?:/[\w-]+)?$", load_configuration().contents(), re.MULTILINE)
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in (".md", ".ipynb")
    }
    assert sorted(listed) == sorted(pages - {"README"})


def test_the_reference_of_python_has_every_public_name():
    documented = re.findall(
        r"^\.\. auto\w+:: hindmost\.(?:\w+\.)*(\w+)$", load_configuration().python_reference(), re.MULTILINE
    )
    assert set(hindmost.__all__) - {"clone", "__version__"} <= set(documented)
    assert set(hindmost.clone.__all__) <= set(documented)


def test_the_site_loads_nothing_from_the_network():
    text = (ROOT / "docs/site/conf.py").read_text(encoding="utf-8")
    assert "html_js_files" not in text
    assert not [name for name in load_configuration().html_css_files if "//" in name]
    assert load_configuration().nb_execution_mode == "off"


def test_a_link_out_of_the_docs_becomes_a_file_name():
    source = ["[a file](../../schemas), [a page](measure.md), [away](https://example.org)"]
    load_configuration().read(None, "guides/python", source)
    assert source[0] == "a file (`schemas`), [a page](measure.md), [away](https://example.org)"


def test_a_link_to_an_example_becomes_a_download():
    source = ["[shop.toml](../../examples/tutorial/shop.toml), [all](../../examples/tutorial)"]
    load_configuration().read(None, "guides/tutorial", source)
    download = "{download}`shop.toml <../../examples/tutorial/shop.toml>`"
    assert source[0] == f"{download}, all (`examples/tutorial`)"


def test_the_reference_of_study_folders_links_to_every_schema():
    source = ["# Study folder"]
    load_configuration().read(None, "reference/study-folder", source)
    assert re.findall(r'href="\.\./schemas/([\w-]+)\.schema\.json"', source[0]) == sorted(texts())


def test_make_docs_builds_the_site_with_pinned_tools():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\n.stamps/docs: requirements-docs.lock" in makefile
    assert re.search(r"^docs: .*\.stamps/docs .*## \S", makefile, re.MULTILINE)
    assert "-W" in (ROOT / "setup/docs.sh").read_text(encoding="utf-8")
    pinned = (ROOT / "requirements-docs.lock").read_text(encoding="utf-8").lower()
    assert all(re.search(rf"^{name}==", pinned, re.MULTILINE) for name in ("sphinx", "furo", "myst-nb"))
    test = re.search(r"^test: (.*) ##", makefile, re.MULTILINE)
    assert test is not None
    assert ".stamps/docs" not in test[1], "make test does not install the tools of the site"
