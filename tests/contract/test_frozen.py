"""What was measured keeps its name and its form: ids, and the bytes of exported tables.

A change here is a change of science or of a format: it raises a version, and CHANGELOG says why.
"""

import hashlib
from pathlib import Path

import pytest

from bench.cells.axes import EVALUATIONS
from bench.cells.pretrain import Pretrain
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import ROOT

FIRST_CELLS = {
    ("eqco-table-9", "paper"): "5063b3748802ca72",
    ("eqco-theorems", "paper"): "a9592e936c2311e2",
    ("mutual-information-table-3", "paper"): "83d26d22c6e8541a",
    ("mutual-information-figure-6", "paper"): "00cb7b0d56bb0eb1",
    ("dcl-propositions", "cpu"): "7de0ce6159304091",
    ("dcl-table-17", "paper"): "e2fa138cfb44f98d",
    ("cifar10-jpeg", "gpu"): "b25a3ed870c779ac",
}
"""Of each experiment the id of the first cell of a suite at a scale."""
GRADIENT_NORM = "8c80de1021e2ef24"  # of eqco-theorems too, in its second grid
TRAINING = "d8d3bf7cdf53c195"  # of the first cell of cifar10-jpeg at gpu
EVALUATION_IDS = {
    "knn": "ccd238f4eb944998",
    "linear": "e5a1bb766de8ff6f",
    "few-shot": "82bbde8b80b1538b",
    "geometry": "7c793a9f730a4b98",
    "weights": "4db4294cc1ef3138",
    "spread": "f578f0f904a95eb2",
    "own": "18cace1d5aad019b",
    "ranks": "56ddd742db02d853",
    "warped-knn": "77573deaf1441ff6",
    "warped-linear": "9463e9867dfe3612",
    "warped-few-shot": "09623f3684dc001d",
}
EXPORTED = {
    "baseline.collapse.csv.gz": "2f7a5bb21f0287e7",
    "baseline.dcl-figure-4.csv.gz": "d5e588005122c6c2",
    "baseline.dcl-figure-4.history.csv.gz": "f8b28525c18d9f03",
    "baseline.dcl-remarks.csv.gz": "20e9467267908082",
    "baseline.dcl-remarks.history.csv.gz": "2a34a2c5e2e2646f",
    "baseline.dcl-table-11.csv.gz": "b16cffe252a5ca24",
    "baseline.dcl-table-15.csv.gz": "e2407239d8f0d4fa",
    "baseline.dcl-table-15.history.csv.gz": "1b0b832abd96612f",
    "baseline.dcl-table-6.csv.gz": "bae672ef2bdbff52",
    "baseline.dcl-table-6.history.csv.gz": "b664e19fe6ab2a90",
    "baseline.dcl-table-7.csv.gz": "cd0b82e7452e7c1c",
    "baseline.dcl-table-7.history.csv.gz": "44d8b5fdcf14ba9c",
    "baseline.dual-temperature-table-1.csv.gz": "e87f1c01c9763f16",
    "baseline.dual-temperature-table-1.history.csv.gz": "2fe1f2a45274adfe",
    "baseline.eqco-table-2.csv.gz": "dda94d53f9ed5d0e",
    "baseline.eqco-table-2.history.csv.gz": "7bd30069fd3c1329",
    "baseline.eqco-table-5.csv.gz": "04074f905866e32b",
    "baseline.eqco-table-6.csv.gz": "01c4761c81b9b1da",
    "baseline.eqco-table-7.csv.gz": "ed3e6dea8961d03a",
    "baseline.eqco-table-7.history.csv.gz": "61c5fa9500eb08e6",
    "baseline.map-dcl.csv.gz": "f084d9969be9152b",
    "baseline.map-dcl.history.csv.gz": "2e5f291a16a0d53e",
    "baseline.map-dual-temperature.csv.gz": "2c0068a7fd90b552",
    "baseline.map-dual-temperature.history.csv.gz": "e9267548843ee5ea",
    "baseline.map-families.csv.gz": "79dc14af1b3c21c5",
    "baseline.map-which-negatives.csv.gz": "a07519bf657b8110",
    "baseline.map-which-negatives.history.csv.gz": "7fc90fadc894ef62",
    "baseline.mutual-information-figure-10.csv.gz": "35fad4156c390bfd",
    "baseline.mutual-information-figure-4.csv.gz": "f584a6a2e5afd0d2",
    "baseline.mutual-information-figure-4.history.csv.gz": "144bec1c243f646d",
    "baseline.mutual-information-figure-5.csv.gz": "1298e0715123c1e7",
    "baseline.mutual-information-figure-5.history.csv.gz": "4536d4b388ba4863",
    "baseline.mutual-information-table-1.csv.gz": "ecb41ffaf3b8f82a",
    "baseline.mutual-information-table-1.history.csv.gz": "c35d1aba9fadde19",
    "baseline.mutual-information-theorem-2-1.csv.gz": "c2e1fdf6bc366703",
    "baseline.recipe-bank.csv.gz": "a865b3d4f872ac4f",
    "baseline.recipe-bank.history.csv.gz": "ec5f09dbff862ff2",
    "baseline.recipe-batch.csv.gz": "4d3016166618453d",
    "baseline.recipe-batch.history.csv.gz": "74130b7d4638fbdd",
    "baseline.search-bank.csv.gz": "c06cb2d7d09b3254",
    "baseline.search-bank.history.csv.gz": "3d8ad352a01d3255",
    "baseline.search-queue.csv.gz": "d9f060f23747167e",
    "baseline.search-queue.history.csv.gz": "07a3bc53418f3b42",
    "baseline.search-siamese.csv.gz": "73ffa2f8856edfc2",
    "baseline.since-2022.csv.gz": "97e3a8ea4be489a3",
    "baseline.unigrad-figure-2.csv.gz": "f45e6ffa9fd225c7",
    "baseline.unigrad-figure-2.history.csv.gz": "4075c085fc242acc",
    "baseline.unigrad-table-2.csv.gz": "e1b1eede84c6602c",
    "baseline.unigrad-table-6.csv.gz": "78bf9b2a88b76c81",
    "baseline.unigrad-table-6.history.csv.gz": "10c62f552a118cd2",
    "detection.eqco-table-8.csv.gz": "7a682847d8695d7e",
    "detection.mutual-information-table-2b.csv.gz": "742c81749e71a1da",
    "detection.mutual-information-table-2b.history.csv.gz": "42203d08835b485f",
    "detection.mutual-information-table-2d.csv.gz": "da80e2a0f87040fd",
    "detection.mutual-information-table-2d.history.csv.gz": "35a75296b0e28157",
    "detection.mutual-information-table-4.csv.gz": "b438c3a2f1cb9002",
    "detection.mutual-information-table-4.history.csv.gz": "e2cc291b9a6f30e4",
    "detection.unigrad-table-10.csv.gz": "37ecd0ec09c64948",
    "digests.json": "5609eccf4106c28f",
    "finetune.unigrad-table-9.csv.gz": "1b1e2a6ddb5686b2",
    "gaussian-mi.csv.gz": "4f60d5f89806a24d",
    "gaussian-mi.history.csv.gz": "e5619b2ff5d8440a",
    "gradient-norm.csv.gz": "13cb56cf8682608c",
    "identity.csv.gz": "eb320f0487aef2d7",
    "identity.dual-temperature-consistency.csv.gz": "00782c5c7652b43e",
    "image-text.dcl-clip.csv.gz": "f95fe96f59e617d5",
    "image-text.dcl-clip.history.csv.gz": "6eefc7adc595171d",
    "optimal-bound.csv.gz": "817bbef4b0c757be",
    "pretrain.collapse.csv.gz": "0b57d6882a1120b6",
    "pretrain.collapse.history.csv.gz": "a5307c8e1efd26a1",
    "pretrain.dcl-figure-1.arrays.npz": "7f1a260d25b7dbb8",
    "pretrain.dcl-figure-1.csv.gz": "996d6d2e757f7958",
    "pretrain.dcl-figure-1.history.csv.gz": "2a2fbbc344dd5630",
    "pretrain.dcl-figure-3b.csv.gz": "5a24c7063655e2c9",
    "pretrain.dcl-figure-3b.history.csv.gz": "501488ed5f248527",
    "pretrain.dcl-figure-4.csv.gz": "0a64b847e1725b90",
    "pretrain.dcl-figure-4.history.csv.gz": "187b8c5eba45fe6c",
    "pretrain.dcl-figure-5.csv.gz": "1cbab580e7f52137",
    "pretrain.dcl-figure-5.history.csv.gz": "9f70352b12daed14",
    "pretrain.dcl-remarks.csv.gz": "f5f9c2eda0f45321",
    "pretrain.dcl-remarks.history.csv.gz": "dbde9492ede52680",
    "pretrain.dcl-table-1.csv.gz": "5da986ac865570a7",
    "pretrain.dcl-table-11.csv.gz": "c06933c79963232b",
    "pretrain.dcl-table-11.history.csv.gz": "864ade170a7f10ce",
    "pretrain.dcl-table-12.csv.gz": "367f4819d22a2dce",
    "pretrain.dcl-table-12.history.csv.gz": "2dc8c79b47c51229",
    "pretrain.dcl-table-13.csv.gz": "37d5223f01b57344",
    "pretrain.dcl-table-13.history.csv.gz": "0a3860322c0ea1a7",
    "pretrain.dcl-table-14.csv.gz": "9a3bb671458ec5ee",
    "pretrain.dcl-table-14.history.csv.gz": "1e4f52d7a107ec0c",
    "pretrain.dcl-table-15.csv.gz": "d23a69851b134b76",
    "pretrain.dcl-table-15.history.csv.gz": "c609191e9b1a125c",
    "pretrain.dcl-table-18.csv.gz": "6ec67ada9488b3db",
    "pretrain.dcl-table-2.csv.gz": "4848bafebd8fe858",
    "pretrain.dcl-table-2.history.csv.gz": "62c6574a752a0eef",
    "pretrain.dcl-table-3.csv.gz": "489c8a0994976263",
    "pretrain.dcl-table-3.history.csv.gz": "82dad8e78661deaa",
    "pretrain.dcl-table-4.csv.gz": "fb9660bbb8be51d8",
    "pretrain.dcl-table-4.history.csv.gz": "961d32bbbc6eee69",
    "pretrain.dcl-table-5.csv.gz": "9aee3e33f8e64664",
    "pretrain.dcl-table-5.history.csv.gz": "ab71211ce89c5520",
    "pretrain.dcl-table-6.csv.gz": "95d9c5ef5c0c3875",
    "pretrain.dcl-table-6.history.csv.gz": "bf3a86383ae75b39",
    "pretrain.dcl-table-7.csv.gz": "9220d81807f30f3f",
    "pretrain.dcl-table-7.history.csv.gz": "21a2078f0ceb38d0",
    "pretrain.dcl-table-8.csv.gz": "81231b92e6cfa4b3",
    "pretrain.dcl-table-8.history.csv.gz": "11b583948a4f523f",
    "pretrain.dcl-table-9.csv.gz": "23518cf627aa19f3",
    "pretrain.dcl-table-9.history.csv.gz": "b117ccf43cd879e3",
    "pretrain.dual-temperature-figure-1.csv.gz": "04c66a20876b9473",
    "pretrain.dual-temperature-figure-1.history.csv.gz": "16a08f12b749603a",
    "pretrain.dual-temperature-figure-2.csv.gz": "1ce61fd4e4f7b937",
    "pretrain.dual-temperature-figure-2.history.csv.gz": "f2ba72c74d2c8ecd",
    "pretrain.dual-temperature-main-figure-2.csv.gz": "67731834ecd3d3fa",
    "pretrain.dual-temperature-remarks.csv.gz": "22308afd16e2ee59",
    "pretrain.dual-temperature-remarks.history.csv.gz": "fad4ffd6d87ae3ad",
    "pretrain.dual-temperature-table-1.csv.gz": "6a840bbd6fe24d38",
    "pretrain.dual-temperature-table-1.history.csv.gz": "13481a3cffc6e45d",
    "pretrain.eqco-figure-1.csv.gz": "53fa0609e993cab5",
    "pretrain.eqco-figure-1.history.csv.gz": "f22ef69c8c34c5cc",
    "pretrain.eqco-figure-2.csv.gz": "a45cf1c233a24830",
    "pretrain.eqco-figure-3.csv.gz": "fe766e61a1409d87",
    "pretrain.eqco-figure-4.csv.gz": "53fa0609e993cab5",
    "pretrain.eqco-figure-4.history.csv.gz": "7cbc50d4d1837d40",
    "pretrain.eqco-learning-rate.csv.gz": "82e40af7bf9b4fc5",
    "pretrain.eqco-learning-rate.history.csv.gz": "fa28810a20f04c9a",
    "pretrain.eqco-simo-and-moco.csv.gz": "6a2604684cb2d3ca",
    "pretrain.eqco-simo-and-moco.history.csv.gz": "cac7379afe2be0d3",
    "pretrain.eqco-table-1.csv.gz": "a1e86e1c2bae4007",
    "pretrain.eqco-table-1.history.csv.gz": "6cd6d7fe519f9875",
    "pretrain.eqco-table-2.csv.gz": "f5d50300576804f9",
    "pretrain.eqco-table-2.history.csv.gz": "3626febe2e18ff83",
    "pretrain.eqco-table-3.csv.gz": "430edbab93094038",
    "pretrain.eqco-table-3.history.csv.gz": "ea528bfca4783b49",
    "pretrain.eqco-table-4.csv.gz": "490ccf99301bde45",
    "pretrain.eqco-table-4.history.csv.gz": "4aed2fc035ca08b5",
    "pretrain.eqco-table-5.csv.gz": "42306b032f220270",
    "pretrain.eqco-table-5.history.csv.gz": "10920ae1842377b9",
    "pretrain.eqco-table-6.csv.gz": "f6fca01f68cabe0f",
    "pretrain.eqco-table-6.history.csv.gz": "b239bf3ead3a4478",
    "pretrain.eqco-table-7.csv.gz": "4b3e697da3f75837",
    "pretrain.eqco-table-7.history.csv.gz": "2baf1c57c34f4b7d",
    "pretrain.map-dcl-q-b.csv.gz": "f76ae7dbdc1bf968",
    "pretrain.map-dcl-q-b.history.csv.gz": "5a4ca7a722d96e4b",
    "pretrain.map-dcl-rates.csv.gz": "947704a87e8f3bdf",
    "pretrain.map-dcl-rates.history.csv.gz": "c3231a609ecb6c19",
    "pretrain.map-dcl.csv.gz": "105e050eb9f11350",
    "pretrain.map-dcl.history.csv.gz": "315fab622db3a0ea",
    "pretrain.map-dual-temperature.csv.gz": "c701cd1b8411a8bd",
    "pretrain.map-dual-temperature.history.csv.gz": "7174bae5f0c8e119",
    "pretrain.map-families.csv.gz": "901494aea46581f8",
    "pretrain.map-families.history.csv.gz": "bbcb56052c7ba69c",
    "pretrain.map-negatives.csv.gz": "be87d0a1c57669b3",
    "pretrain.map-negatives.history.csv.gz": "2e06cd3e1752f489",
    "pretrain.map-temperature.csv.gz": "8b22014dce35a038",
    "pretrain.map-temperature.history.csv.gz": "f673e5f8996989e2",
    "pretrain.map-which-negatives.csv.gz": "602f6cd5df32ae01",
    "pretrain.map-which-negatives.history.csv.gz": "c4f69cbe91504357",
    "pretrain.mutual-information-figure-10.csv.gz": "12e48f9d2f30dbc3",
    "pretrain.mutual-information-figure-10.history.csv.gz": "ee38ff3408922c64",
    "pretrain.mutual-information-figure-2.csv.gz": "1254a5905b6cad3f",
    "pretrain.mutual-information-figure-2.history.csv.gz": "f8ddaa2b658a553b",
    "pretrain.mutual-information-figure-4.csv.gz": "70df76326400d4e3",
    "pretrain.mutual-information-figure-4.history.csv.gz": "cf603d49899d3760",
    "pretrain.mutual-information-figure-5.csv.gz": "23f652a5b836ab93",
    "pretrain.mutual-information-figure-5.history.csv.gz": "5c5eb318814200c8",
    "pretrain.mutual-information-figure-7.csv.gz": "9d914a9b0a9a0ae6",
    "pretrain.mutual-information-figure-7.history.csv.gz": "a54fcedd921eeb59",
    "pretrain.mutual-information-figure-8.csv.gz": "33cffd2d096eedfa",
    "pretrain.mutual-information-figure-8.history.csv.gz": "29d11c66e46d3007",
    "pretrain.mutual-information-figure-9.csv.gz": "5ff0d5d6ed9d58ba",
    "pretrain.mutual-information-figure-9.history.csv.gz": "93237255f26e9534",
    "pretrain.mutual-information-table-1.csv.gz": "0c825d9f16eda696",
    "pretrain.mutual-information-table-1.history.csv.gz": "51c0a4e8ee573e13",
    "pretrain.mutual-information-theorem-2-1.csv.gz": "b320cec830ffa2fd",
    "pretrain.recipe-bank.csv.gz": "08db36b4a5b8746b",
    "pretrain.recipe-bank.history.csv.gz": "ef9f40e676e70644",
    "pretrain.recipe-batch.csv.gz": "714df07d1ca6142b",
    "pretrain.recipe-batch.history.csv.gz": "cc30648890745656",
    "pretrain.recipe-predictor.csv.gz": "3d0c79c35ab8d3c6",
    "pretrain.recipe-predictor.history.csv.gz": "462b7bcbb646eda0",
    "pretrain.recipe-queue.csv.gz": "508c59e3728f3e16",
    "pretrain.recipe-queue.history.csv.gz": "752ace4965295212",
    "pretrain.search-bank-constant.csv.gz": "f69ab1e382d35c6b",
    "pretrain.search-bank-constant.history.csv.gz": "bbdacf5d16cacb58",
    "pretrain.search-bank.csv.gz": "098ee0e85bf06e54",
    "pretrain.search-bank.history.csv.gz": "e770e9c3a99a1803",
    "pretrain.search-batch.csv.gz": "a09a95f2a4d4cdc7",
    "pretrain.search-dclw.csv.gz": "a447ed4648f08311",
    "pretrain.search-hypersphere.csv.gz": "8bcddc2976738023",
    "pretrain.search-map-dcl.csv.gz": "3e2ca7be5af18a6f",
    "pretrain.search-map-dcl.history.csv.gz": "6523bc659abf0569",
    "pretrain.search-map-dual-temperature.csv.gz": "47fff9d595568377",
    "pretrain.search-map-dual-temperature.history.csv.gz": "6ac667ea28704794",
    "pretrain.search-map-families.csv.gz": "7ee315036047185c",
    "pretrain.search-map-families.diverged.csv.gz": "a05bf9a12f60d074",
    "pretrain.search-map-families.history.csv.gz": "afebcf6517ec6dcf",
    "pretrain.search-map-negatives.csv.gz": "56e5907a4b728668",
    "pretrain.search-map-negatives.history.csv.gz": "6dd2b61716f881f1",
    "pretrain.search-map-temperature.csv.gz": "5bafe2bf1d975c46",
    "pretrain.search-map-temperature.history.csv.gz": "03f2b3f0129c03c9",
    "pretrain.search-map-which-negatives.csv.gz": "a0dc94ab8702c262",
    "pretrain.search-map-which-negatives.history.csv.gz": "e7f529efdeead031",
    "pretrain.search-queue.csv.gz": "fec662bc11c69a5d",
    "pretrain.search-queue.history.csv.gz": "e656b73b450f96b9",
    "pretrain.search-siamese.csv.gz": "86268f113031b5ed",
    "pretrain.search-siamese.diverged.csv.gz": "631915ea97426d18",
    "pretrain.search-siamese.history.csv.gz": "a26e661c0076cb9a",
    "pretrain.search-simo.csv.gz": "ba17b4c608138664",
    "pretrain.search-since-2022.csv.gz": "52fc63b7791e97af",
    "pretrain.since-2022.csv.gz": "314ae56614a13bc6",
    "pretrain.unigrad-eigenspaces.csv.gz": "1f098c2c50b91d56",
    "pretrain.unigrad-eigenspaces.history.csv.gz": "d878bb97fb0dfe57",
    "pretrain.unigrad-figure-2.csv.gz": "3c2f43c22ca4feb9",
    "pretrain.unigrad-figure-2.history.csv.gz": "36c45b94eeb588a5",
    "pretrain.unigrad-table-2.csv.gz": "188899cccfee98c7",
    "pretrain.unigrad-table-2.diverged.csv.gz": "72beb991a1b7ef5b",
    "pretrain.unigrad-table-2.history.csv.gz": "6259a206c2a99786",
    "pretrain.unigrad-table-3.csv.gz": "d01cd63466a4775f",
    "pretrain.unigrad-table-3.history.csv.gz": "e2b528488f111b8e",
    "pretrain.unigrad-table-4.csv.gz": "6ed7fa11548d84ae",
    "pretrain.unigrad-table-4.history.csv.gz": "5287e8394a4e509c",
    "pretrain.unigrad-table-6.csv.gz": "be1c1312977dfa48",
    "pretrain.unigrad-table-6.history.csv.gz": "5fa8ba117f3d8fd3",
    "pretrain.unigrad-table-7.csv.gz": "a7bdbd9f848317e0",
    "pretrain.unigrad-table-7.history.csv.gz": "0988f19dd6b59fbe",
    "pretrain.unigrad-table-8.csv.gz": "dcb1b464eb643dc2",
    "pretrain.unigrad-table-8.history.csv.gz": "6cecab144887a2b3",
    "speech-baseline.dcl-table-16.csv.gz": "1163574debe5244f",
    "speech-baseline.dcl-table-16.history.csv.gz": "b2ed9562df371422",
    "speech.dcl-table-16.csv.gz": "3018268be8661a5a",
    "speech.dcl-table-16.history.csv.gz": "3ac881df3886c419",
    "spirals.arrays.npz": "6e24bb53d87be600",
    "spirals.csv.gz": "dce0180472c3c489",
    "spirals.history.csv.gz": "bfb93037592f94ed",
    "supervised.dcl-table-17.csv.gz": "6266fddf5f6f3593",
    "supervised.dcl-table-17.history.csv.gz": "d51a408483897264",
    "supervised.dual-temperature-table-2.csv.gz": "986f08f4de63ac72",
    "supervised.dual-temperature-table-2.history.csv.gz": "4f3243ebed776c2a",
    "supervised.recipe-supervised.csv.gz": "6795220fe3ecdf47",
    "supervised.recipe-supervised.history.csv.gz": "f11dfecd563c0561",
    "supervised.search-classifier.csv.gz": "e36c12faa4dcb831",
    "supervised.search-classifier.history.csv.gz": "1f0b44c08a498f45",
    "tsne.dcl-figure-4c.arrays.npz": "1375c5f31655a029",
    "tsne.dcl-figure-4c.csv.gz": "64f24120b58cbbd4",
    "vince-gaussian.csv.gz": "fbe9ecee5093d638",
    "vince-gaussian.history.csv.gz": "e6547293b80c06d6",
}
"""The first digits of the SHA-256 of each exported table of the reference runs."""


IDS = Path(__file__).with_name("ids.txt")
"""For each suite and scale: number of cells, and the start of the SHA-256 of their ids."""


def ids_of_all_cells() -> str:
    lines = []
    for path in sorted((ROOT / "suites").glob("*.yaml")):
        suite = load_suite(path)
        for scale in suite.scales:
            ids = [cell.id for cell in expand(suite, scale, path)]
            digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:16]
            lines.append(f"{path.stem} {scale} {len(ids)} {digest}\n")
    return "".join(lines)


def test_ids_of_all_cells_of_all_suites_stay() -> None:
    """`python -m tests.contract.test_frozen` writes the file anew; CHANGELOG says what moved."""
    assert ids_of_all_cells() == IDS.read_text()


@pytest.mark.parametrize(("name", "scale"), FIRST_CELLS)
def test_ids_of_cells_stay(name: str, scale: str) -> None:
    path = ROOT / "suites" / f"{name}.yaml"
    cells = expand(load_suite(path), scale, path)
    assert cells[0].id == FIRST_CELLS[name, scale]


def test_ids_of_the_second_grid_of_a_suite_stay() -> None:
    path = ROOT / "suites" / "eqco-theorems.yaml"
    cells = expand(load_suite(path), "paper", path)
    assert next(c.id for c in cells if c.experiment == "gradient-norm") == GRADIENT_NORM


def test_ids_of_trainings_and_evaluations_stay() -> None:
    path = ROOT / "suites" / "cifar10-jpeg.yaml"
    cell = expand(load_suite(path), "gpu", path)[0]
    assert isinstance(cell, Pretrain)
    assert cell.training_id == TRAINING
    assert {name: cell.evaluation_id(name) for name in EVALUATIONS} == EVALUATION_IDS


def test_exported_tables_of_the_reference_runs_stay() -> None:
    tables = sorted((ROOT / "results" / "reference").iterdir())
    digests = {p.name: hashlib.sha256(p.read_bytes()).hexdigest()[:16] for p in tables}
    assert digests == EXPORTED


@pytest.mark.parametrize(
    ("name", "scale", "former"),
    [("dcl-table-17", "paper", "c2d385b373039d6b"), ("cifar10-jpeg", "gpu", "cc84fea9d1f7d25e")],
)
def test_cells_are_known_by_their_ids_under_earlier_versions(
    name: str, scale: str, former: str
) -> None:
    """Literal ids of version 1: what was computed then is told as stale, not as missing."""
    path = ROOT / "suites" / f"{name}.yaml"
    assert expand(load_suite(path), scale, path)[0].former_ids == [former]


if __name__ == "__main__":
    IDS.write_text(ids_of_all_cells())
