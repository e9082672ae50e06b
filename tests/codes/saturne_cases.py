# SPDX-License-Identifier: BSD-3-Clause
"""Cases of code_saturne: tutorials of its documentation, and a mesh of all kinds of cells. They run
by `code_saturne run`, with the line that pillion-saturne prints or without it.
"""

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import limits
import pytest
from saturne_mesh import MESHES

EXAMPLES = Path("/usr/share/doc/code-saturne/examples")
TOOL = "/usr/lib/code_saturne/cs_io_dump"
HEADERS = '#include "cs_defs.h"\n#include "cs_headers.h"\n#include "cs_prototypes.h"\n'
USER_MESH = """
void cs_user_join(void) { cs_join_add("x > 0.99 and x < 1.01", 0.1, 25., 1, 1);
  cs_join_add("x > 2.99 and x < 3.01", 0.1, 25., 1, 1); }
"""
# Two sides are one, besides.
USER_PERIODICITY = """
void cs_user_periodicity(void) { const double along[3] = {0, 0, 1};
  cs_join_perio_add_translation("z < 0.001 or z > 0.999", 0.1, 25., 1, 1, along); }
"""
USER_ROTOR = """
void cs_user_turbomachinery(void) { cs_turbomachinery_set_model(CS_TURBOMACHINERY_TRANSIENT); }
void cs_user_turbomachinery_rotor(void) { double axis[3] = {0, 0, 1}, at[3] = {0, 0, 0};
  cs_turbomachinery_add_rotor("cylinder[0,0,-1, 0,0,1, 1.0001]", 2.0, axis, at);
  cs_turbomachinery_join_add(
    "cylinder[0,0,-1, 0,0,1, 1.02] and not cylinder[0,0,-1, 0,0,1, 0.97]", 0.1, 25., 1, 1); }
"""
# A user function of a name that the task of Pillion could need.
USER_OPERATIONS = """
void cs_user_extra_operations_finalize(cs_domain_t *domain) {
  CS_UNUSED(domain);
  bft_printf("user operations ran\\n");
}
"""
# Values from which the next step cannot be computed.
USER_MISTAKE = """
void cs_user_extra_operations(cs_domain_t *domain) {
  if (cs_glob_time_step->nt_cur == 4)
    for (int i = 0; i < domain->mesh->n_cells; i++) CS_F_(vel)->val[3 * i] = 1e200 * (i % 2);
}
"""
USER_POROSITY = {
    "cs_user_parameters.c": HEADERS + "void cs_user_model(void) { cs_glob_porous_model = 1; }\n",
    "cs_user_porosity.c": HEADERS
    + """void cs_user_porosity(void) {
  const cs_real_3_t *x = (const cs_real_3_t *)cs_glob_mesh_quantities->cell_cen;
  for (int i = 0; i < cs_glob_mesh->n_cells; i++)
    CS_F_(poro)->val[i] = 1. - 0.3 * (x[i][1] > 1.);
}
""",
}
# A zone that is smaller at each step, over the zones of the setup.
USER_ZONES = """
static void select(void *input, const cs_mesh_t *m, int location_id, cs_lnum_t *n_elts,
                   cs_lnum_t **elt_ids) {
  cs_lnum_t n = 0;
  double (*at)[3] = NULL, (*normal)[3] = NULL;
  cs_mesh_quantities_b_faces(m, (cs_real_t **)&at, (cs_real_t **)&normal);
  BFT_MALLOC(*elt_ids, m->n_b_faces, cs_lnum_t);
  for (cs_lnum_t f = 0; f < m->n_b_faces; f++)
    if (at[f][1] > 0.3 * cs_glob_time_step->nt_cur) (*elt_ids)[n++] = f;
  *n_elts = n;
  BFT_FREE(at);
  BFT_FREE(normal);
}
void cs_user_zones(void) {
  int id = cs_boundary_zone_define_by_func("upper part", select, NULL, 0);
  cs_boundary_zone_set_time_varying(id, true);
  for (int z = 1; z <= id; z++) cs_boundary_zone_set_overlay(z, true);
}
"""
# Every boundary point follows a wave; code_saturne's equation for the mesh moves those between.
USER_MOTION = """subroutine usalcl(itrale, nvar, nscal, icodcl, itypfb, ialtyb, impale, &
                  dt, rcodcl, xyzno0, disale)
  use paramx
  use numvar
  use optcal
  use mesh
  implicit none
  integer itrale, nvar, nscal, ifac, ii, inod
  integer icodcl(nfabor,nvar), itypfb(nfabor), ialtyb(nfabor), impale(nnod)
  double precision dt(ncelet), rcodcl(nfabor,nvar,3), disale(3,nnod), xyzno0(3,nnod)
  do ifac = 1, nfabor
    do ii = ipnfbr(ifac), ipnfbr(ifac+1)-1
      inod = nodfbr(ii)
      disale(:,inod) = 0.d0
      disale(1,inod) = 0.002d0*ntcabs*sin(2.d0*xyzno0(2,inod))
      impale(inod) = 1
    enddo
  enddo
end subroutine usalcl
"""


@dataclass(frozen=True)
class Case:
    """A case, as changes of a tutorial."""

    tutorial: str
    xml: dict[str, str] = field(hash=False)  # regular expressions that are replaced in setup.xml
    sources: dict[str, str] = field(default_factory=dict, hash=False)
    meshes: tuple[str, ...] = ()  # of its own


STEPS = {r"<iterations>\d+": "<iterations>6"}
UNSTEADY = STEPS | {
    r"<time_passing>-1": "<time_passing>0",
    r"<time_step_ref>[^<]*": "<time_step_ref>0.005",
    r"<velocity_pressure_algo choice=.simple.": '<velocity_pressure_algo choice="simplec"',
    r'choice="fixed_mesh"': 'choice="transient_connectivity"',
}
BAR = STEPS | {
    r"downcomer.des": "joined.msh",
    r"(nature=.inlet.>)[^<]*": r"\1x &lt; 0.001",
    r"(nature=.outlet.>)[^<]*": r"\1x &gt; 3.999",
    r"(nature=.symmetry.>)[^<]*": r"\1z &lt; 0.001",
    r"(nature=.wall.>)[^<]*": r"\1x &gt; 0.001 and x &lt; 3.999 and z &gt; 0.001",
}
CASES = {
    "junction": Case("1-simple_junction/case1", STEPS),
    "domain": Case("2-full_domain/case1", STEPS | {r"<output_at_start.*\n": ""}),
    "joined": Case(
        "1-simple_junction/case1",
        BAR,
        {
            "cs_user_mesh.c": HEADERS + USER_MESH,
            "cs_user_extra_operations.c": HEADERS + USER_OPERATIONS,
        },
        ("joined.msh",),
    ),
    "periodic": Case(
        "1-simple_junction/case1",
        BAR,
        {"cs_user_mesh.c": HEADERS + USER_MESH + USER_PERIODICITY},
        ("joined.msh",),
    ),
    "porous": Case("1-simple_junction/case1", STEPS, USER_POROSITY),
    "zones": Case("1-simple_junction/case1", STEPS, {"cs_user_zones.c": HEADERS + USER_ZONES}),
    "quality": Case(
        "1-simple_junction/case1", STEPS | {"<run_type>standard": "<run_type>mesh quality"}
    ),
    "diverging": Case(
        "1-simple_junction/case1", STEPS, {"cs_user_extra_operations.c": HEADERS + USER_MISTAKE}
    ),
    "rotor": Case(
        "1-simple_junction/case1",
        UNSTEADY
        | {
            r"downcomer.des": "rotor.msh",
            r"(nature=.inlet.>)[^<]*": r"\1x &lt; -99",
            r"(nature=.outlet.>)[^<]*": r"\1x &gt; 99",
            r"(nature=.symmetry.>)[^<]*": r"\1z &lt; 0.001 or z &gt; 0.199",
            r"(nature=.wall.>)[^<]*": r"\1z &gt; 0.001 and z &lt; 0.199",
        },
        {"cs_user_turbomachinery.c": HEADERS + USER_ROTOR},
        ("rotor.msh",),
    ),
    "moving": Case(
        "1-simple_junction/case1",
        UNSTEADY
        | {
            r'<ale_method status="off"/>': '<ale_method status="on">'
            "<fluid_initialization_sub_iterations>0</fluid_initialization_sub_iterations>"
            "</ale_method>",
        },
        {"cs_user_boundary_conditions_ale.f90": USER_MOTION},
    ),
}


def environment(build: Path) -> dict[str, str]:
    """For code_saturne as root, and on more ranks than there are cores."""
    return os.environ | {
        "USER": "root",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PYTHONPATH": str(build / "python"),
    }


class Study:
    """A study of code_saturne in a folder, with a case for each key that is asked for."""

    def __init__(self, build: Path, folder: Path) -> None:
        if shutil.which("code_saturne") is None or not EXAMPLES.is_dir():
            pytest.skip("code_saturne is not installed (tools/install_deps.sh develop)")
        self.build, self.folder = build, folder / "study"
        self.environment = environment(build)
        command = ["code_saturne", "create", "-s", "study", "-c", "template"]
        limits.run(command, cwd=folder, env=self.environment, check=True, capture_output=True)

    def case(self, key: str) -> Path:
        to, case = self.folder / key, CASES[key]
        if to.exists():
            return to
        shutil.copytree(self.folder / "template", to)
        example = EXAMPLES / case.tutorial
        for path in (example.parent / "mesh").glob("*"):
            shutil.copy2(path, self.folder / "MESH")
        text = (example / "setup.xml").read_text()
        for old, new in case.xml.items():
            text, count = re.subn(old, new, text)
            assert count > 0, old
        (to / "DATA/setup.xml").write_text(text)
        for path in example.glob("cs_user*"):
            shutil.copy2(path, to / "SRC")
        for name, source in case.sources.items():
            (to / "SRC" / name).write_text(source)
        for name in case.meshes:
            MESHES[name](self.folder / "MESH" / name)
        return to

    def run(
        self, key, name, ranks, text=None, *, restart=None, steps=None, check=True, **variables
    ):
        """The folder of a run. Without a text, the case has nothing of Pillion; with an empty one
        it has the line and no pillion.yaml. `restart` is the folder of the run before.
        """
        case = self.case(key)
        data = case / "DATA"
        (data / "pillion.yaml").unlink(missing_ok=True)
        script = data / "cs_user_scripts.py"
        script.unlink(missing_ok=True)
        if text is not None:
            if text:
                (data / "pillion.yaml").write_text(text)
            line = limits.run([self.build / "bin/pillion-saturne"], capture_output=True)
            script.write_bytes(line.stdout)
        setup = (data / "setup.xml").read_text()
        if restart is not None:
            path = f"RESU/{restart.name}/checkpoint"
            setup = setup.replace("<start_restart>", f"<start_restart><restart path='{path}'/>")
        if steps is not None:
            setup = re.sub(r"<iterations>\d+", f"<iterations>{steps}", setup)
        (data / f"{name}.xml").write_text(setup)
        command = ["code_saturne", "run", "--id", name, "-n", str(ranks), "--param", f"{name}.xml"]
        done = limits.run(
            command,
            cwd=case,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=240,
        )
        run = case / "RESU" / name
        if check and done.returncode != 0:
            errors = "".join(path.read_text() for path in run.glob("error*"))
            pytest.fail(f"{done.stdout}\n{done.stderr}\n{errors}")
        (run / "output").write_text(done.stdout + done.stderr)
        return run


def stored(run: Path, section: str, file: str = "main"):
    """The numbers of a section of a checkpoint, as code_saturne's own tool prints them."""
    command = [TOOL, "-e", "--section", section, "--f-format", "26.17e"]
    done = limits.run([*command, run / "checkpoint" / file], capture_output=True, check=True)
    return [float(number) for number in done.stdout.split()]
