"""Prints a finished run at a terminal.

All texts are untrusted: markup is escaped and control characters are removed.
"""

from collections import Counter
from collections.abc import Sequence

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conflictscore.nodes.conflict_details import Witness, witnesses
from conflictscore.records import ConflictReport, Document, FurtherSearch, Label, Run, Usage

__all__ = ["looked_further", "print_documents", "print_run", "printable", "tokens_in"]

_SHOWN_CHARS = 400
"""Characters shown of a document that was found."""

_VOTED = "How the documents voted"
_CONTROLS = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
_MARKS = (0x061C, 0x200E, 0x200F)  # ALM, LRM, RLM
_BIDI = dict.fromkeys((*_MARKS, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), " ")


def printable(value: object) -> str:
    """Text without escape sequences, direction marks and overrides."""
    return str(value).translate(_CONTROLS | _BIDI).strip()


def tokens_in(usage: Usage) -> str:
    """Input tokens, and how many of them the provider had in its prompt cache, if any."""
    found = usage.cache_read_tokens
    known = f" ({found:,} from the provider's cache)" if found else ""
    return f"{usage.input_tokens:,} tokens in{known}"


def print_run(run: Run, console: Console) -> None:
    """Print the answer, its changes and their reasons, claims with both sides, and documents.

    For an answer that was only scored: claims and documents.
    """
    if run.question is not None:
        _heading(console, "Answer")
        _answer(console, run.answer or "")
    applied = run.applied_changes
    if applied and not any(change.whole for change in applied):
        _heading(console, "Changed in place after a second look")
        table = _columns()
        for change in applied:
            table.add_row(change.action.value, Text.assemble("“", _text(change.before), "”"))
            table.add_row("now", _text(change.after or "(nothing)"))
            table.add_row("why", _text(change.reason or "no reason was given"))
        console.print(Padding(table, (0, 2), expand=False))
        _second_looks(run, console)
    elif run.flipped:
        _heading(console, "Changed after a second look")
        table = _columns()
        table.add_row("before", _text(run.first_answer))
        table.add_row("after", _text(run.answer))
        table.add_row("why", _text(run.justification or "no reason was given"))
        console.print(Padding(table, (0, 2), expand=False))
    elif run.final_report is not None:
        _heading(console, "Kept after a second look")
        _indented(console, _why_kept(run))
        _second_looks(run, console)
    if run.searches:
        _heading(console, "Looked further")
        for search in run.searches:
            _indented(console, looked_further(search))
    first, final = run.report, run.final_report
    if first and final and _judged(final) != _judged(first):
        _print_claims("Claims of the first answer", first, run.documents, console)
        _print_claims("Claims of the last answer", final, run.documents, console)
    elif first:
        _print_claims("Claims", first, run.documents, console)
    _print_sources(run, console)


def _second_looks(run: Run, console: Console) -> None:
    """Documents behind each side of each disputed claim, and changes that were refused."""
    changes = [change for change in run.changes if change.looks]
    if not changes:
        return
    weighed = any(look.weighing and look.weighing.rulings for c in changes for look in c.looks)
    _heading(console, "How the documents voted, and what was weighed" if weighed else _VOTED)
    for change in changes:
        known = {change.reason, *(look.why for look in change.looks)}  # printed above
        for line in change.told():
            if line not in known:
                _indented(console, line)


def _why_kept(run: Run) -> str:
    """Why an answer that was looked at again stayed as it was."""
    whys = [change.note or change.reason for change in run.changes]
    told = " ".join(dict.fromkeys(filter(None, whys)))
    return run.justification or told or "No reason was given."


def looked_further(search: FurtherSearch) -> str:
    """One further search on a line: its query and its result."""
    told = [
        f"{name} {', '.join(map(str, numbers))}"
        for name, numbers in (("new", search.found), ("known", search.known))
        if numbers
    ]
    if search.left_out:
        told.append(f"{len(search.left_out)} left out")
    came = "; ".join(told) or ("" if search.note else "nothing")
    said = " ".join(printable(search.query or search.claim).split())
    return f"“{said}”: {'; '.join(filter(None, [came, printable(search.note or '')]))}"


def print_documents(documents: Sequence[Document], notes: Sequence[str], console: Console) -> None:
    """Print the documents of a search, each with its source and the beginning of its text."""
    for document in documents:
        known = document.metadata
        facts = [str(known[key]) for key in ("provider", "date", "passage") if known.get(key)]
        if known.get("text_from") == "page":
            facts.append("text of the page")
        if error := known.get("page_error"):
            facts.append(f"snippet only: {error}")
        if document.duplicate_of:
            facts.append(f"nearly the same text as document {document.duplicate_of}")
        title = printable(document.title) or printable(document.url) or "(no title)"
        console.print(Text.assemble(f"{document.number}. ", (title, "bold")))
        if document.title:
            _indented(console, document.url)
        if facts:
            console.print(Padding(Text(printable(", ".join(facts)), style="dim"), (0, 2)))
        _indented(console, _beginning(document.text))
        console.print()
    for note in notes:
        console.print(Text(f"Note: {printable(note)}", style="yellow"))


def _beginning(text: str) -> str:
    folded = " ".join(printable(text).split())
    return folded if len(folded) <= _SHOWN_CHARS else f"{folded[:_SHOWN_CHARS]} …"


def _print_claims(
    title: str, report: ConflictReport, documents: Sequence[Document], console: Console
) -> None:
    _heading(console, title)
    scores = f"CS-C {_score(report.cs_c)}   CS-R {_score(report.cs_r)}"
    pairs = [pair for evidence in report.claims for pair in evidence.labels]
    missing = sum(pair.error is not None for pair in pairs)
    labelled = f"{len(pairs) - missing} of {len(pairs)} pairs labelled"
    _indented(console, f"{scores}   {labelled}   (0 is best)")
    if weighted := report.weighted:
        scores = f"CS-C {_score(weighted.cs_c)}   CS-R {_score(weighted.cs_r)}"
        _indented(console, f"{scores}   with documents weighed by {weighted.by}")
    stages = Counter(pair.stage for pair in pairs if pair.stage)
    if stages:
        decided = (f"{stage} {count}" for stage, count in stages.most_common())
        _indented(console, f"pairs decided by: {', '.join(decided)}")
    for evidence in report.claims:
        number, text = evidence.claim.number, printable(evidence.claim.text)
        how = "conflict" if evidence.conflicting else ""
        if number in report.disputed:
            how = report.why_disputed(evidence) or how
        mark = Text(f" {how} ", style="black on yellow") if how else Text("")
        line = Text.assemble(f"{number}. ", text, "  ", mark)
        console.print(Padding(line, (1, 2, 0, 2), expand=False))
        table = _columns()
        for name, label, style in (
            ("supports", Label.SUPPORTS, "green"),
            ("contradicts", Label.CONTRADICTS, "red"),
            ("unlabelled", Label.UNLABELLED, "dim"),
        ):
            if numbers := evidence.documents(label):
                shown = ", ".join(map(str, numbers))
                independent = evidence.independent(label, report.duplicates)
                if label is not Label.UNLABELLED and independent != len(numbers):
                    shown += f" ({independent} independent)"
                table.add_row(Text(name, style=style), shown)
                if evidence.contradicts and label is not Label.UNLABELLED:
                    for witness in witnesses(evidence, label, documents):
                        table.add_row("", _shown(witness))
        if number in report.uncovered:
            table.add_row(Text("uncovered", style="dim"), "no document speaks to it")
        console.print(Padding(table, (0, 5), expand=False))


def _judged(report: ConflictReport) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """The part of a report by which a reader tells two reports apart."""
    return [(e.claim.text, e.supports, e.contradicts) for e in report.claims]


def _shown(witness: Witness) -> Text:
    """A document's own words on a disputed claim, their source, and the judge's reason."""
    source = f"{witness.document.number}. {printable(witness.source)}"
    passage = f"\n“{printable(witness.passage)}”" if witness.passage else ""
    reason = f"\n{printable(witness.reason)}" if witness.reason else ""
    return Text.assemble((source, "dim"), passage, (reason, "dim"))


def _print_sources(run: Run, console: Console) -> None:
    _heading(console, "Documents")
    table, scored = _columns(), run.final_report or run.report
    weights = scored.weights if scored else {}
    for document in run.documents:
        title, url = printable(document.title), printable(document.url)
        shown = f"{title}  {url}" if title else url or "(no title)"
        copied = document.duplicate_of
        hint = f"  nearly the same text as document {copied}" if copied else ""
        if document.number in weights:
            hint += f"  weight {weights[document.number]:.2f}"
        table.add_row(str(document.number), Text.assemble(printable(shown), (hint, "dim")))
    console.print(Padding(table, (0, 2), expand=False))
    for note in run.notes:
        console.print(Text(f"Note: {printable(note)}", style="yellow"))
    usage = run.usage
    console.print(
        Text(
            f"\n{usage.calls} model call{'' if usage.calls == 1 else 's'},"
            f" {usage.cached_calls} from the cache,"
            f" {tokens_in(usage)}, {usage.output_tokens:,} out"
            f"   run {run.run_id}",
            style="dim",
        )
    )


def _answer(console: Console, text: str) -> None:
    """Print the answer, as rendered Markdown at a terminal and verbatim elsewhere."""
    if not console.is_terminal:
        _indented(console, text)
        return
    laid_out = Markdown(printable(text), hyperlinks=False)
    # Rich's own parser reads HTML as markup and hides it
    plain = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    laid_out.parsed = plain.parse(laid_out.markup)
    console.print(Padding(laid_out, (0, 2), expand=False))


def _text(value: object) -> Text:
    """A cell of plain text: Rich would read markup in a string."""
    return Text(printable(value))


def _heading(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))


def _indented(console: Console, text: str) -> None:
    console.print(Padding(Text(printable(text)), (0, 2), expand=False))


def _columns() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _score(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
