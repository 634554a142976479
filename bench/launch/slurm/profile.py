"""Cluster profiles: Slurm options by name, in the user's own file."""

from collections.abc import Mapping
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
"""Options of submitit that the launcher sets itself."""

WARNED_S = 90  # before the end of a job, by default
LEAST_S = 120  # that a job has before the warning

MAPPINGS = ("slurm_additional_parameters",)

Pack = PositiveInt | Literal["auto"]
Option = bool | int | float | str | list[str] | dict[str, str | int | bool]


class Profile(Record):
    """How cells become jobs of a cluster. A job is one node, or as many as its ranks need.

    Keys that start with `slurm_` are passed to submitit, for instance slurm_partition,
    slurm_account, slurm_qos, slurm_constraint, slurm_setup and slurm_additional_parameters. So are
    keys that start with the name of another registered submitit executor.
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
    elsewhere: dict[str, Option] = {}  # of other executors, with the prefix

    @property
    def workers_a_gpu(self) -> int:
        """Number of workers that share a GPU, or a job without GPUs.

        Raises:
            ValueError: `pack` is auto.
        """
        if self.pack == "auto":
            raise ValueError("pack 'auto' was not replaced by a number of workers")
        return self.pack

    @property
    def workers(self) -> int:
        """Number of workers of a job; ranks that compute together count as one."""
        return 1 if self.ranks > 1 else self.workers_a_gpu * max(1, self.gpus_per_node)

    @property
    def nodes(self) -> int:
        """Number of nodes of a job."""
        return max(1, -(-self.ranks // self.gpus_per_node)) if self.gpus_per_node else 1

    @model_validator(mode="after")
    def _there_is_time(self) -> Self:
        delay = self.slurm.get("signal_delay_s", WARNED_S)
        if not isinstance(delay, int) or 60 * self.timeout_min < delay + LEAST_S:
            raise ValueError(
                f"timeout_min {self.timeout_min} is too short: Slurm warns {delay} s before "
                f"the end, so less than {LEAST_S} s of work remain"
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
            raise ValueError(
                f"{self.ranks} ranks cannot be divided evenly among {self.nodes} nodes"
            )
        if self.ranks > 1 and self.pack != 1:
            raise ValueError(
                "pack must be 1 with several ranks, because all ranks of a job compute one "
                "cell together"
            )
        return self


def load_profile(name: str | None) -> Profile:
    """Return a profile by its name in `~/.config/bench/profiles.yaml`, or from a file.

    Without a name, the profile `default` is used, or Slurm's own settings if it does not exist.

    Raises:
        LaunchError: the profile does not exist or is invalid.
    """
    if name is not None and (name.endswith((".yaml", ".yml")) or "/" in name):
        return _checked(load_yaml(Path(name).expanduser(), LaunchError), name)
    home = PROFILES.expanduser()
    known = (load_yaml(home, LaunchError) if home.exists() else None) or {}
    if not isinstance(known, dict):
        raise LaunchError(
            f"{home}: the file must be a mapping from names of profiles to their settings"
        )
    if name is None and DEFAULT not in known:
        return Profile()
    wanted = name or DEFAULT
    if wanted not in known:
        allowed = (
            choices(wanted, [str(n) for n in known]) if known else f"{PROFILES} has no profiles."
        )
        raise LaunchError(f"--profile {wanted}: there is no profile of this name. {allowed}")
    return _checked(known[wanted], f"{home}: {wanted}")


def _checked(values: Any, where: str) -> Profile:
    if not isinstance(values, dict) or any(
        isinstance(v, dict) for k, v in values.items() if k not in MAPPINGS
    ):
        raise LaunchError(f"{where}: expected the settings of one profile, such as timeout_min: 60")
    given = {str(key): value for key, value in values.items()}
    for key in ("slurm", "elsewhere"):
        if key in given:
            raise LaunchError(
                f"{where}: {key}: unknown key; options of Slurm are single keys such as "
                "slurm_partition"
            )
    of = {key: _executor_of(key) for key in given if key not in Profile.model_fields}
    _check_options({key: executor for key, executor in of.items() if executor}, where)
    slurm = {k.removeprefix("slurm_"): given.pop(k) for k, name in of.items() if name == "slurm"}
    elsewhere = {k: given.pop(k) for k, name in of.items() if name not in (None, "slurm")}
    try:
        more = {"slurm": slurm, "elsewhere": elsewhere}
        return Profile.model_validate(given | more, strict=False)
    except ValidationError as error:
        raise explain(LaunchError, error, Path(where), root=Profile) from None


def added_executors() -> list[str]:
    """Return the names of executors that other packages registered with submitit."""
    from submitit.core.plugins import get_executors  # 0.2 s, and most commands need none

    return sorted(get_executors().keys() - {"slurm", "local", "debug"})


def _executor_of(key: str) -> str | None:
    """Return the executor whose name a key of a profile begins with."""
    names = ["slurm", *added_executors()]
    return next((name for name in names if key.startswith(f"{name}_")), None)


def _check_options(options: Mapping[str, str], where: str) -> None:
    """Refuse an option that its executor, the value, does not have."""
    from submitit.core.plugins import get_executors

    for key, name in options.items():
        ours = OURS if name == "slurm" else ()
        allowed = sorted(get_executors()[name]._valid_parameters() - set(ours))
        if key.removeprefix(f"{name}_") not in allowed:
            known_options = choices(key, [f"{name}_{option}" for option in allowed])
            raise LaunchError(
                f"{where}: {key}: this option cannot be set in a profile. {known_options}"
            )
