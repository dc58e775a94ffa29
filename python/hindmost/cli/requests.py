"""Options of a command that are the fields of a request: each with its name, type, default and help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import Parameter as Argument
from inspect import signature
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from hindmost.cli.options import GROUPS, whole_number
from hindmost.core.run.request.options import OptionField, declare_fields

Verb = Callable[..., int]


def add_request_options(
    request: type, before: Mapping[str, str], without: Collection[str] = ()
) -> Callable[[Verb], Verb]:
    """Return a decorator that replaces a command's first parameter by an option for each field of a request.

    Parameters
    ----------
    request : type
        A dataclass whose fields are annotated with `hindmost.core.run.request.options.Option`. Its first
        field may be given without a name.
    before : mapping
        The command's own options that the help page shows before a field, by name of that field.
    without : collection of str, optional
        Fields that this command does not offer.
    """
    fields = {name: one for name, one in declare_fields(request).items() if name not in without}

    def spread(verb: Verb) -> Verb:
        _, *own = signature(verb).parameters.values()
        hints = get_type_hints(verb, include_extras=True)
        arguments = {one.name: one.replace(annotation=hints[one.name]) for one in own}
        many = [one for one in own if one.kind is Argument.VAR_POSITIONAL]
        ordered: list[Argument] = [arguments.pop(one.name) for one in many]
        for place, one in enumerate(fields.values()):
            if (earlier := before.get(one.name)) is not None:
                ordered.append(arguments.pop(earlier))
            kind = Argument.POSITIONAL_OR_KEYWORD if place == 0 and not many else Argument.KEYWORD_ONLY
            ordered.append(Argument(one.name, kind, default=one.default, annotation=_annotation(one)))
        ordered += arguments.values()

        def called(*words: Any, **options: Any) -> int:  # noqa: ANN401 (whatever cyclopts read)
            if many:
                given, rest = options, words
            else:
                given, rest = dict(zip((one.name for one in ordered), words, strict=False)) | options, ()
            asked = {name: given.pop(name) for name in fields if name in given}
            return verb(request(**asked), *rest, **given)

        called.__doc__ = verb.__doc__
        called.__name__ = verb.__name__
        called.__module__ = verb.__module__
        called.__annotations__ = {one.name: one.annotation for one in ordered}
        called.__signature__ = signature(verb).replace(parameters=ordered)  # type: ignore[attr-defined]
        return called

    return spread


def _annotation(one: OptionField) -> Any:  # noqa: ANN401 (a type)
    option = one.option
    parameter = Parameter(
        group=GROUPS[option.group],
        metavar=option.metavar,
        help=option.help,
        negative="" if one.type is bool or one.is_repeated else None,
        converter=whole_number if one.is_integer else None,
    )
    return Annotated[one.type, parameter]
