"""One strict, reproducible execution of a notebook with papermill.

papermill only warns about an unknown parameter, keeps the default of a missing one, and calls a notebook that left
early through `sys.exit(0)` a success. Here each of these fails; and what would tell two runs of the same notebook apart
(times, process ids, memory addresses, the order in which stdout and stderr arrived) is taken out of the result.
"""

import ast
import itertools
import json
import re
import sys
from pathlib import Path

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

KERNEL = "python3"
START_TIMEOUT_S = 300  # a kernel start takes a second; on a machine whose cores are all busy it has taken a minute
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CELL_FILE = re.compile(r"\S*ipykernel_\d+/\d+\.py")  # the name of a cell in a warning: holds the kernel's process id
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


class NotebookError(RuntimeError):
    """A notebook cannot be run as asked, or did not run to its end."""


def declared(path: Path) -> dict:
    """The parameters a notebook declares and their defaults: the assignments in its one cell tagged `parameters`.

    Raises NotebookError unless there is exactly one such cell and it holds only `name = literal` lines: papermill puts
    the given values in a cell *after* it, so a value computed in it would be computed from the defaults.
    """
    cells = [cell for cell in nbformat.read(path, 4).cells if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        raise NotebookError(f"{path}: {len(cells)} cells are tagged `parameters`; tag exactly one")
    values = {}
    for statement in ast.parse(cells[0].source).body:
        line = ast.unparse(statement)
        try:
            (target,) = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            values[target.id] = ast.literal_eval(statement.value)
        except (AttributeError, TypeError, ValueError):
            raise NotebookError(f"{path}: parameters cell: `{line}` is not `name = <plain literal>`") from None
    return values


def check_parameters(path: Path, given: dict) -> None:
    """Raise NotebookError if `given` lacks a parameter the notebook declares, or has one that it does not."""
    names = set(declared(path))
    faults = [f"does not declare {sorted(set(given) - names)}"] if set(given) - names else []
    faults += [f"declares {sorted(names - set(given))}, which nothing sets"] if names - set(given) else []
    if faults:
        raise NotebookError(f"{path}: the parameters cell {' and '.join(faults)}; the runner sets {sorted(given)}")


def install_kernel(folder: Path) -> None:
    """Write the kernelspec `python3` under `folder` (an entry of JUPYTER_PATH): this very interpreter, whatever else
    `python3` means to the user's Jupyter."""
    spec = folder / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    # Log level 50: a kernel that is shut down after a failed cell logs an interrupt, which reads like the cause.
    argv = [sys.executable, "-m", "selfevolve.kernel", "-f", "{connection_file}", "--log-level=50"]
    metadata = {"supported_encryption": ["curve"]}  # as ipykernel's own: the notebook's traffic is not in plain text
    spec.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python", "metadata": metadata}))


def execute(path: Path, parameters: dict, running: Path, root: Path) -> nbformat.NotebookNode:
    """Run the notebook `path` in `root` and return it, executed and normalised.

    `running` is rewritten after every cell, so that it shows how far the notebook came. Raises NotebookError, naming
    the cell, when a cell fails, never runs (an early exit), or the kernel dies.
    """
    check_parameters(path, parameters)
    try:
        nb = papermill.execute_notebook(
            str(path),
            str(running),
            parameters=parameters,
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
            start_timeout=START_TIMEOUT_S,
            cwd=str(root),
        )
    except PapermillExecutionError:
        nb = nbformat.read(running, 4)  # the error is in it, and looked up below
    except DeadKernelError as error:
        raise NotebookError(
            f"{path}: the kernel died with no Python error (most often memory ran out, or the cell ended the process) "
            f"in {_last_started(running)}"
        ) from error
    raise_for_failure(path, nb)
    return normalise(nb, root, parameters["work"])


def raise_for_failure(path: Path, nb: nbformat.NotebookNode) -> None:
    """Raise NotebookError if a cell of the executed notebook ended in an error (SystemExit counts) or never ran."""
    codes = [cell for cell in nb.cells if cell.cell_type == "code" and cell.source.strip()]
    for number, cell in enumerate(codes, 1):
        for output in cell.outputs:
            if output.output_type == "error":
                trace = ANSI.sub("", "\n".join(output.traceback)).strip() or f"{output.ename}: {output.evalue}"
                if output.ename == "SystemExit":
                    trace = f"SystemExit: {output.evalue}\nA notebook runs to its end; leave out sys.exit()."
                raise NotebookError(f"{path}: code cell {number} of {len(codes)} failed:\n{_indent(trace)}")
    skipped = [number for number, cell in enumerate(codes, 1) if cell.execution_count is None]
    if skipped:
        raise NotebookError(f"{path}: code cells {skipped} of {len(codes)} never ran: something ended the notebook early")


def normalise(nb: nbformat.NotebookNode, root: Path, work: str) -> nbformat.NotebookNode:
    """The executed notebook without what differs between two runs of it, or between two machines."""
    nb = nbformat.from_dict(nb)
    nb.metadata = nbformat.from_dict(
        {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": KERNEL}}
    )
    nb.nbformat, nb.nbformat_minor = 4, 5
    for number, cell in enumerate(nb.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {})
        if cell.cell_type == "code":
            cell.source = _without_places(cell.source, root, work)
            cell.outputs = [_clean(output, root, work) for output in _in_order(cell.outputs)]
    return nb


def _in_order(outputs: list) -> list:
    """Neighbouring stream outputs merged, stdout before stderr: how they interleave depends on when each is flushed."""
    ordered = []
    for is_stream, group in itertools.groupby(outputs, key=lambda output: output.output_type == "stream"):
        neighbours = list(group)
        if not is_stream:
            ordered += neighbours
            continue
        for name in ("stdout", "stderr"):
            text = "".join(output.text for output in neighbours if output.name == name)
            if text:
                ordered.append(nbformat.v4.new_output("stream", name=name, text=text))
    return ordered


def _clean(output, root: Path, work: str):
    def clean(text: str) -> str:
        return ADDRESS.sub("at 0x...", CELL_FILE.sub("<cell>", _without_places(text, root, work)))

    if output.output_type == "stream":
        output.text = clean(output.text)
    elif isinstance(output.get("data", {}).get("text/plain"), str):
        output.data["text/plain"] = clean(output.data["text/plain"])
    return output


def _without_places(text: str, root: Path, work: str) -> str:
    """Paths as they read from the root; the last part of `work`, a hash of everything the stage reads, as `<key>`: left
    in, an edited comment would change the executed notebook, and with it make every later stage stale."""
    text = text.replace(f"{sys.prefix}/", "").replace(f"{root}/", "")
    return text.replace(work, f"{Path(work).parent.as_posix()}/<key>")


def _last_started(running: Path) -> str:
    """The last code cell that the kernel took up, for the message of a kernel that died."""
    codes = nbformat.read(running, 4).cells if running.is_file() else []
    codes = [cell for cell in codes if cell.cell_type == "code" and cell.source.strip()]
    started = [number for number, cell in enumerate(codes, 1) if cell.metadata.papermill.start_time]
    if not started:
        return "no cell, but at its start"
    return f"code cell {started[-1]} of {len(codes)}:\n{_indent(codes[started[-1] - 1].source)}"


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()[-30:])


def write(nb: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook as JSON with a final newline, the same bytes for the same content."""
    path.write_text(nbformat.writes(nb, version=4) + "\n", encoding="utf-8")
