"""Suite files: one file -> one `Suite`, a folder -> all of them."""

from pathlib import Path

from pydantic import ValidationError

from bench.errors import SuiteError, choices
from bench.files.validation_errors import explain
from bench.files.yaml_file import load_yaml, yaml_files
from bench.suites.shared_scales import load_shared_scales
from bench.suites.shipped import plugin_folders, shipped_suites
from bench.suites.suite import Suite
from bench.suites.suite_file import SuiteFile


def load_suite(path: Path) -> Suite:
    """Return the suite of the file.

    Raises:
        SuiteError: in one line, whatever is wrong with it.
    """
    data = load_yaml(path, SuiteError)
    if data is None:
        raise SuiteError(f"{path}: the file is empty; a suite is a mapping of keys")
    if not isinstance(data, dict):
        raise SuiteError(f"{path}: a suite is a mapping of keys, found {type(data).__name__}")
    strays = [key for key in data if not isinstance(key, str)]
    if strays:
        raise SuiteError(f"{path}: key {strays[0]!r} is not text")
    try:
        file = SuiteFile.model_validate(data)
    except ValidationError as error:
        raise SuiteError(explain(error, path, root=SuiteFile)) from None
    if file.name != path.stem:
        twin = path.with_stem(file.name)
        also = f"; {twin} bears that name" if twin.exists() else ""
        raise SuiteError(
            f"{path}: name: found '{file.name}', expected the file's name '{path.stem}'{also}"
        )
    shared = load_shared_scales(path.parent) if file.names_shared_scales else {}
    return file.suite(shared, path)


def suite_paths(folder: Path) -> dict[str, Path]:
    """Return the suite files of a folder by name.

    Raises:
        SuiteError: there is no such folder, or two files share a name.
    """
    if not folder.is_dir():
        raise SuiteError(f"{folder}: no such folder; --suites names the folder of suite files")
    paths: dict[str, Path] = {}
    for path in yaml_files(folder):
        if path.stem in paths:
            raise SuiteError(
                f"{path}: a second suite named '{path.stem}', beside {paths[path.stem]}"
            )
        paths[path.stem] = path
    return paths


def known_suites(folder: Path) -> dict[str, Path]:
    """Return suite files by name: those of a folder, then those of installed plug-ins.

    A suite in the folder comes before one of the same name in a plug-in.

    Raises:
        SuiteError: there is no such folder, or two files of it, or two plug-ins, share a name.
    """
    here, installed = suite_paths(folder), dict[str, Path]()
    for plugin, path in plugin_folders("bench.suites"):
        for name, file in suite_paths(path).items():
            if name in installed and name not in here:
                raise SuiteError(
                    f"plug-in {plugin}: {file}: a second suite named '{name}', beside "
                    f"{installed[name]}"
                )
            installed[name] = file
    return here | {name: file for name, file in installed.items() if name not in here}


def find_suite(name: str, folder: Path) -> Path:
    """Return the file of a suite given by name, or by a path that ends in .yaml or .yml.

    Raises:
        SuiteError: there is no suite of that name.
    """
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    paths = known_suites(folder)
    if name in paths:
        return paths[name]
    hidden = shipped_suites() / f"{name}.yaml"
    if hidden.exists():
        raise SuiteError(
            f"{folder}: no suite '{name}'; bench's own suites, which have it, are used with "
            f"--suites {hidden.parent}"
        )
    raise SuiteError(f"{folder}: no suite '{name}'. {choices(name, list(paths), 'bench suites')}")
