"""A mistake in a clone document is refused with its key and its line."""

import json

import pytest
from messages import raises

from hindmost.commands.clone.document import load_clone
from hindmost.core.plan.positions import line_of
from hindmost.errors import UsageError

HEAD = 'schema = "hindmost.clone/1"\nname = "x"  # [[service]]\n'


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('[[service]]\nlaw = { kind = "exponential", mean_us = 3 }\nwieght = 1.0\n', 5, "service[0].wieght"),
        ('[[service]]\nlaw = { kind = "exponential", mean_us = "3" }\n', 4, "service[0].law.mean_us"),
        ('[[service]]\nlaw = { kind = "gamma", mean_us = 3, shap = 2 }\n', 4, "service[0].law.shap"),
        ("[[service]]\nweight = 1\n", 3, "service[0].law"),
        ('[[service]]\nlaw = { kind = "exponential", mean_us = -3 }\n', 4, "service[0].law.mean_us"),
        ("threads = 0\n[[service]]\n[service.law]\nkind = 'exponential'\nmean_us = 3\n", 3, "threads"),
        ("threads = 'two'\n", 3, "threads"),
        (
            'kinds = [\n  { name = "a", share = 1.0, service = [\n'
            '    { weight = 0.5, law = { kind = "exponential", mean_us = 1 } },\n'
            '    { weight = 7.0, law = { kind = "exponential", mean_us = 1 } },\n  ] },\n]\n',
            6,
            "kinds[0].service[1].weight",
        ),
        (
            '[[kinds]]\nname = "a"\nshare = 1.0\n[[kinds.service]]\nweight = 1.0\n'
            '[kinds.service.law]\nkind = "exponential"\nmean_us = 0\n',
            10,
            "kinds[0].service[0].law.mean_us",
        ),
    ],
)
def test_a_mistake_in_toml_is_refused_by_line_and_key(tmp_path, text, line, key):
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + text)
    with pytest.raises(UsageError) as caught:
        load_clone(path)
    fields = caught.value.fields
    assert (fields["path"], fields["line"], fields["key"]) == (str(path), line, key)


def test_a_mistake_in_json_is_refused_by_line_and_key(tmp_path):
    path = tmp_path / "mine.json"
    document = {"schema": "hindmost.clone/1", "name": "x", "threads": 0, "service": []}
    path.write_text(json.dumps(document, indent=2))
    with raises(UsageError, "bad-value", path=str(path), line=4, key="threads"):
        load_clone(path)


def test_the_line_of_every_field_of_an_application_is_found():
    from hindmost.commands.clone.document import APPLICATIONS, read_source
    from hindmost.commands.clone.parameters import known_paths

    for name in APPLICATIONS:
        text = read_source(name)
        paths = [path for path in known_paths(load_clone(name).document) if path.startswith("service[")]
        for path in paths:
            leaf = path.rpartition(".")[2]
            assert leaf in text.splitlines()[line_of(text, path, toml=True) - 1] or leaf not in text
