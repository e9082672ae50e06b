# SPDX-License-Identifier: BSD-3-Clause
"""`pillion.results(folder)`: the products of a run by name, each an xarray dataset.

The folder is listed again at each request, so that products of a running simulation appear as they
are written. A dataset stays as it was when it was opened; what it reads later comes from files that
are whole and are replaced whole.
"""

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pillion.datasets.kept import Kept, Stamp, stamp_of
from pillion.datasets.listing import SUFFIXES, Listing, Product
from pillion.datasets.overview import Overview, as_html, as_text, start_of, state_text
from pillion.errors import Error
from pillion.liveness import settled, state_of
from pillion.progress import Parts, read_parts
from pillion.report.run import Run, read_attached_jobs, read_run, with_attached_jobs
from pillion.run_files import Owner, owner_of, run_of_table

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

    from pillion.datasets.raw_meshes import StoredMesh

Default = TypeVar("Default")
NAMED = 12  # keys that a message lists
AGAIN = 5  # times that a product is read again because it changed meanwhile
run_of: Kept[str] = Kept(run_of_table, 1 << 62)


def results(folder: str | Path) -> "Results":
    """The products in a run's output folder, also during the run.

    Nothing is read before it is asked for. Raises Error if there is no such folder.
    """
    return Results(folder)


class Results(Mapping[str, "Dataset"]):
    """Products by keys such as "motion/msd": analysis, and name without the file's ending.

    If a name exists in several formats, their keys end with `.csv`, `.steps`, `.idx`, `.hdf5`,
    `.plotfiles` or `.raw`; such keys are always understood.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        if not self.path.is_dir():
            raise Error(f"there is no folder {self.path}: give the output folder of a run")
        self._listing = Listing(self.path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listing.products())

    def __len__(self) -> int:
        return len(self._listing.products())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._find(key) is not None

    def __getitem__(self, key: str) -> "Dataset":
        return self.open(key)

    def get(self, key: str, default: Default = None) -> "Dataset | Default":  # type: ignore[assignment, override]
        """The product, or `default` where there is none of that key (yet)."""
        return self.open(key) if key in self else default

    def open(
        self,
        key: str,
        *,
        level: int | None = None,
        rows: Literal["common", "own", "ragged"] | None = None,
    ) -> "Dataset":
        """Opens a product. Steps are read at once, values when they are used.

        `level` is for IDX datasets: all cells of the levels up to this one; and for plotfiles: the
        cells of this level, the coarsest by default, NaN where it has no box. `rows` is for tables
        of steps, and selects how they are combined. With `common`, all share one x [step, x]; with
        `own`, each has its own x [step, point]; with `ragged`, rows are one after the other [row].
        By default the first and the last table decide.

        Steps of tables that another run has left in the folder are left out. A product that belongs
        to another run as a whole is read as it is. Both cause a warning.

        Raises Error if there is no such product, if it is broken or of another version of the
        format, and if the options do not apply to it.
        """
        product = self._own(self._product(key))
        if level is not None and product.kind not in ("idx", "openpmd", "plotfile"):
            raise Error(f"{key} has no levels: only IDX datasets and plotfiles have")
        if rows is not None and product.kind != "steps":
            raise Error(f"{key} is not a table of each step, so `rows` means nothing to it")
        from pillion.datasets.products import open_product  # which imports xarray

        found = open_product(product, level, rows)
        if product.kind not in ("table", "steps"):
            self._expect_own(key, str(found.attrs.get("run", "")))
        return found

    def at(self, key: str, step: int) -> "Dataset":
        """The product at one step. Raises Error if it does not have that step."""
        product = self._product(key)
        if product.kind == "steps" and step not in product.steps:
            raise Error(f"{key} has no step {step}; it has {_some(product.steps)}")
        if product.kind != "table":
            from pillion.datasets.products import open_step  # which imports xarray

            return open_step(product, step)
        whole = self.open(key)
        if "step" not in whole.xindexes:
            raise Error(f"{key} is one table over the whole run, and has no steps")
        steps = whole["step"].values.tolist()
        if step not in steps:
            raise Error(f"{key} has no step {step}; it has {_some(steps)}")
        return whole.sel(step=step)

    def mesh(self, key: str, step: int) -> "StoredMesh":
        """The points and cells of an unstructured or curvilinear mesh at a step, which `write_raw`
        has written. Cells and points are in the order of the values of the product at that step.

        Raises Error if there is no such product or step, or if the product has no points.
        """
        product = self._product(key)
        if product.kind != "raw":
            raise Error(f"{key} has no points and cells: only datasets of write_raw have")
        from pillion.datasets.raw_meshes import mesh_at

        return mesh_at(product.path, step)

    def tree(self, analysis: str | None = None) -> "DataTree":
        """All products, or those of an analysis, as one tree of datasets."""
        from xarray import DataTree

        keys = [key for key in self if analysis is None or key.startswith(f"{analysis}/")]
        if analysis is not None and not keys:
            raise Error(self._no_product(analysis))
        prefix = "" if analysis is None else f"{analysis}/"
        return DataTree.from_dict({key.removeprefix(prefix): self[key] for key in keys})

    def follow(
        self, key: str, every: float = 0.5, at_most: float | None = None
    ) -> Iterator["Dataset"]:
        """Yields the product each time that it has changed, until the run has ended. Checks every
        `every` seconds, for at most `at_most` seconds. If the product does not exist yet, waits for
        it.
        """
        seen: Stamp | None = None
        begun = time.monotonic()
        while True:
            ended = self._has_ended()  # before the last look
            stamp = self._stamp(key)
            if stamp is not None and stamp != seen:
                whole, seen = self._settled(key, stamp)
                yield whole
            left = float("inf") if at_most is None else begun + at_most - time.monotonic()
            if ended or left <= 0:
                return
            time.sleep(min(every, left))

    @property
    def owner(self) -> Owner | None:
        """The run that owns these results, by its id; None if no file names it."""
        return owner_of(self.path)

    @property
    def analyses(self) -> list[str]:
        """The analyses that have products."""
        return list(dict.fromkeys(key.partition("/")[0] for key in self))

    @property
    def report(self) -> Run | None:
        """The costs and results of the run and its attached jobs; None before the session is
        closed.
        """
        if not (self.path / "report.json").exists():
            return None
        run = read_run(self.path)
        return with_attached_jobs(run, read_attached_jobs(run)[0])

    @property
    def progress(self) -> Parts | None:
        """The progress of simulation, sidecars and attached jobs; None if there is none."""
        parts = read_parts(self.path)
        return parts if parts.all else None

    @property
    def has_ended(self) -> bool:
        """Whether all that writes products has ended, well or not.

        On another machine than the run's, the first answer takes a heartbeat if the run is active.
        If it was killed, the answer takes as long as a run may be without a sign of life.
        """
        settled(self.path)
        return self._has_ended()

    def _has_ended(self) -> bool:
        """The same as far as it is known by now."""
        progress = self.progress
        if progress is None:
            return (self.path / "report.json").exists()
        return all(state_of(part).is_final for part in progress.all)

    def refresh(self) -> "Results":
        """Has the folder listed again, where its times of change are not to be trusted."""
        self._listing.forget()
        return self

    def product(self, key: str) -> Product:
        """The product as listed: kind, file or folder, steps of tables per step."""
        return self._product(key)

    def _expect_own(self, key: str, run: str, owner: Owner | None = None) -> None:
        owner = owner or self.owner
        if owner is not None and not owner.has_made(run):
            _warn(f"{key} in {self.path} is of run {run}, not of run {owner.id} of this folder")

    def _own(self, product: Product) -> Product:
        """The product without steps that another run has left. In folders that were empty when the
        run began, as its marker says, only the first and the last step are looked at.
        """
        owner = self.owner
        if owner is None or product.kind not in ("table", "steps"):
            return product
        if product.kind == "table":
            self._expect_own(product.key, run_of(product.path), owner)
            return product
        ends = {product.steps[0], product.steps[-1]}
        trusted = product.path.name in owner.folders
        if trusted and all(owner.has_made(run_of(product.file(step))) for step in ends):
            return product
        own = tuple(s for s in product.steps if owner.has_made(run_of(product.file(s))))
        others = len(product.steps) - len(own)
        if others and own:
            _warn(
                f"{others} steps of {product.key} in {self.path} are of other runs than "
                f"{owner.id}, and are left out; `at` reads them one by one"
            )
        elif others:
            self._expect_own(product.key, run_of(product.file(product.steps[-1])), owner)
        return replace(product, steps=own) if own else product

    def _stamp(self, key: str) -> Stamp | None:
        found = self._find(key)
        return _stamp(found) if found is not None else None

    def _settled(self, key: str, stamp: Stamp) -> tuple["Dataset", Stamp | None]:
        """The product and its stamp, of one moment: what was replaced while it was read would
        else be taken for another afterwards.
        """
        whole, after = self.open(key), self._stamp(key)
        for _ in range(AGAIN):
            if after == stamp or after is None:
                break
            stamp = after
            whole, after = self.open(key), self._stamp(key)
        return whole, stamp

    def _find(self, key: str) -> Product | None:
        products = self._listing.products()
        if key in products:
            return products[key]
        name, _, suffix = key.rpartition(".")
        found = products.get(name)
        return found if found is not None and SUFFIXES[found.kind] == suffix else None

    def _product(self, key: str) -> Product:
        found = self._find(key)
        if found is None:
            raise Error(self._no_product(key))
        return found

    def _no_product(self, key: str) -> str:
        keys = list(self)
        said = f"there is no product '{key}' in {self.path}"
        if inside := [k for k in keys if k.startswith((f"{key}/", f"{key}."))]:
            return f"{said}, but {_some(inside)}"
        names = {k.partition("/")[2]: k for k in keys}
        close = get_close_matches(key, keys, 3) or [
            names[n] for n in get_close_matches(key.rpartition("/")[2], names, 3)
        ]
        if close:
            return f"{said}; did you mean {' or '.join(close)}?"
        return f"{said}; " + (f"there are {_some(keys)}" if keys else "there are none yet")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def _overview(self) -> Overview:
        started = 0.0
        with suppress(Error):
            started = start_of(self.progress, self.report)
        try:
            state = state_text(self.progress, self._has_ended())
        except Error as error:
            state = str(error)
        return Overview(self.path, self._listing.products(), self.owner, started, state)

    def __repr__(self) -> str:
        return as_text(self._overview())

    def _repr_html_(self) -> str:
        return as_html(self._overview())


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=5)


def _some(items: Any) -> str:
    texts = [str(item) for item in items]
    return ", ".join(texts if len(texts) <= NAMED else [*texts[: NAMED - 2], "…", texts[-1]])


def _stamp(product: Product) -> Stamp | None:
    """A value that differs when the product has grown; None if nothing in it is complete yet."""
    path = product.newest
    if product.kind in ("hdf5", "openpmd", "plotfile") and (path / ".steps").exists():
        path /= ".steps"
    try:
        stamp = stamp_of(path)
    except Error:  # gone since
        return None
    return stamp if stamp[2] > 0 else None
