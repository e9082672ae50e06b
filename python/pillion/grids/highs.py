# SPDX-License-Identifier: BSD-3-Clause
"""Has HiGHS solve a program, through its own Python package, highspy."""

from typing import TYPE_CHECKING, Any

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.grids.program import Program

# Whole numbers apart differ by far more, and no gap is allowed: the optimum is the true one.
_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "parallel": "off",
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}


def load() -> Any:
    """The package highspy; raises Error if it is not installed."""
    try:
        import highspy
    except ImportError as error:
        raise Error("pairs of grids need the package highspy: pip install highspy") from error
    return highspy


def solve(program: "Program") -> list[float] | None:
    """The unknowns at the optimum; None if nothing satisfies the program."""
    highspy = load()
    solver = highspy.Highs()
    for name, value in _OPTIONS.items():
        solver.setOptionValue(name, value)
    solver.passModel(_model(highspy, program))
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        said = solver.modelStatusToString(status)
        raise Error(f"HiGHS found no optimum: it said '{said}'. Is highspy whole?")
    return list(solver.getSolution().col_value)


def _model(highspy: Any, program: "Program") -> Any:
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(program.rows)
    model.col_cost_, model.col_upper_ = program.cost, program.upper
    model.col_lower_ = [0.0] * len(program.cost)
    model.row_lower_ = [float(row.lower) for row in program.rows]
    model.row_upper_ = [float(row.upper) for row in program.rows]
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger] * (len(program.cost) - 1) + [kinds.kContinuous]
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    starts = [0]
    for row in program.rows:
        starts.append(starts[-1] + len(row.terms))
    matrix.start_ = starts
    matrix.index_ = [place for row in program.rows for place in row.terms]
    matrix.value_ = [float(value) for row in program.rows for value in row.terms.values()]
    return model
