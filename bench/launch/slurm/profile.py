"""What a cluster wants to be asked for: Slurm's options, kept by name in the user's own file."""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, PositiveInt, ValidationError, field_validator, model_validator

from bench.errors import LaunchError, choices
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml
from bench.record import Record

PROFILES = Path("~/.config/bench/profiles.yaml")
DEFAULT = "default"
OURS = (
    "array_parallelism", "cpus_per_task", "dependency", "gpus_per_node", "gpus_per_task",
    "job_name", "nodes", "ntasks_per_node", "num_gpus", "time", "use_srun",
)  # fmt: skip
"""submitit's options that the launcher sets itself."""

WARNED_S = 90  # before the end of a job, by default
LEAST_S = 120  # that a job has before the warning

MAPPINGS = ("slurm_additional_parameters",)

Pack = PositiveInt | Literal["auto"]
Option = bool | int | float | str | list[str] | dict[str, str | int | bool]


class Profile(Record):
    """How cells become jobs of one cluster. A job is one node, or as many as its ranks need.

    Keys that begin with `slurm_` are submitit's: slurm_partition, slurm_account, slurm_qos,
    slurm_constraint, slurm_setup, slurm_additional_parameters, ...
    """

    timeout_min: PositiveInt = (
        60  # of a job; a cell that takes longer goes on in the job's next life
    )
    gpus_per_node: int = Field(default=0, ge=0)
    cpus_per_task: PositiveInt | None = None  # of a job; by default one per worker
    mem_gb: float | None = Field(default=None, gt=0)
    pack: Pack = 1  # workers per GPU, or of a job without GPUs
    ranks: PositiveInt = 1  # processes that compute each cell together, one per GPU
    max_array_size: PositiveInt | None = None  # jobs of one `bench run`; default: the site's limit
    slurm: dict[str, Option] = {}  # without the prefix

    @property
    def workers_a_gpu(self) -> int:
        """Workers that share a GPU, or a job without GPUs.

        Raises:
            ValueError: `pack` is auto.
        """
        if self.pack == "auto":
            raise ValueError("pack 'auto' was not looked up")
        return self.pack

    @property
    def workers(self) -> int:
        """Workers of a job; ranks that compute together are one."""
        return 1 if self.ranks > 1 else self.workers_a_gpu * max(1, self.gpus_per_node)

    @property
    def nodes(self) -> int:
        """Nodes of a job."""
        return max(1, -(-self.ranks // self.gpus_per_node)) if self.gpus_per_node else 1

    @model_validator(mode="after")
    def _there_is_time(self) -> Self:
        delay = self.slurm.get("signal_delay_s", WARNED_S)
        if not isinstance(delay, int) or 60 * self.timeout_min < delay + LEAST_S:
            raise ValueError(
                f"timeout_min {self.timeout_min}: Slurm warns {delay} s before the end, which "
                f"leaves less than {LEAST_S} s"
            )
        return self

    @field_validator("slurm")
    @classmethod
    def _are_of_their_types(cls, slurm: dict[str, Option]) -> dict[str, Option]:
        for name, kind, words in (
            ("setup", list, "a list of shell commands"),
            ("teardown", list, "a list of shell commands"),
            ("srun_args", list, "a list of options"),
            ("additional_parameters", dict, "a mapping"),
        ):
            if not isinstance(slurm.get(name, kind()), kind):
                raise ValueError(f"slurm_{name}: expected {words}")
        return slurm

    @model_validator(mode="after")
    def _ranks_fill_nodes(self) -> Self:
        if self.ranks % self.nodes:
            raise ValueError(f"ranks {self.ranks} do not divide among {self.nodes} nodes")
        if self.ranks > 1 and self.pack != 1:
            raise ValueError("pack has no meaning with several ranks: they compute one cell")
        return self


def load_profile(name: str | None) -> Profile:
    """Return a profile: by its name in `~/.config/bench/profiles.yaml`, or a file that holds one.

    Without a name it is the one called default, or Slurm's own settings where there is none.

    Raises:
        LaunchError: no such profile, or something in it is wrong.
    """
    if name is not None and (name.endswith((".yaml", ".yml")) or "/" in name):
        return _checked(load_yaml(Path(name).expanduser(), LaunchError), name)
    home = PROFILES.expanduser()
    known = (load_yaml(home, LaunchError) if home.exists() else None) or {}
    if not isinstance(known, dict):
        raise LaunchError(f"{home}: expected profiles by name")
    if name is None and DEFAULT not in known:
        return Profile()
    wanted = name or DEFAULT
    if wanted not in known:
        allowed = choices(wanted, [str(n) for n in known]) if known else f"{PROFILES} has none."
        raise LaunchError(f"--profile {wanted}: no such profile. {allowed}")
    return _checked(known[wanted], f"{home}: {wanted}")


def _checked(values: Any, where: str) -> Profile:
    if not isinstance(values, dict) or any(
        isinstance(v, dict) for k, v in values.items() if k not in MAPPINGS
    ):
        raise LaunchError(f"{where}: expected the settings of one profile, such as timeout_min: 60")
    given = {str(key): value for key, value in values.items()}
    slurm = {k.removeprefix("slurm_"): v for k, v in given.items() if k.startswith("slurm_")}
    given_here = {key: value for key, value in given.items() if not key.startswith("slurm_")}
    if "slurm" in given_here:
        raise LaunchError(f"{where}: slurm: unknown key; write slurm_partition and the like")
    _check_options(list(slurm), where)
    try:
        return Profile.model_validate(given_here | {"slurm": slurm}, strict=False)
    except ValidationError as error:
        raise LaunchError(explain(error, Path(where), root=Profile)) from None


def _check_options(names: list[str], where: str) -> None:
    from submitit import SlurmExecutor

    allowed = sorted(SlurmExecutor._valid_parameters() - set(OURS))
    for name in names:
        if name not in allowed:
            known_options = choices(f"slurm_{name}", [f"slurm_{option}" for option in allowed])
            raise LaunchError(f"{where}: slurm_{name}: not to be set here. {known_options}")
