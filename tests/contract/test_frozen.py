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
    "baseline.collapse.csv.gz": "5eb9c4c9436a4903",
    "baseline.dcl-figure-4.csv.gz": "b8a4364255b30c47",
    "baseline.dcl-figure-4.history.csv.gz": "f8b28525c18d9f03",
    "baseline.dcl-remarks.csv.gz": "3c13028a76f29c1a",
    "baseline.dcl-remarks.history.csv.gz": "2a34a2c5e2e2646f",
    "baseline.dcl-table-11.csv.gz": "d17addeb63c812b9",
    "baseline.dcl-table-15.csv.gz": "43c2ba0e706dc4d7",
    "baseline.dcl-table-15.history.csv.gz": "1b0b832abd96612f",
    "baseline.dcl-table-6.csv.gz": "2d186f2ad5ccb9ac",
    "baseline.dcl-table-6.history.csv.gz": "b664e19fe6ab2a90",
    "baseline.dcl-table-7.csv.gz": "7342dfa45025c222",
    "baseline.dcl-table-7.history.csv.gz": "44d8b5fdcf14ba9c",
    "baseline.digits-balance-factor.csv.gz": "ad4f1f48d3c1ce98",
    "baseline.digits-balance-factor.history.csv.gz": "bf2715d96ce8387d",
    "baseline.digits-learning-rate.csv.gz": "b6e4ac591397369c",
    "baseline.digits-learning-rate.history.csv.gz": "e1515b81b63c8cb5",
    "baseline.dual-temperature-table-1.csv.gz": "49244ca3d18fe51e",
    "baseline.dual-temperature-table-1.history.csv.gz": "2fe1f2a45274adfe",
    "baseline.eqco-table-2.csv.gz": "e9b234672ddb7cf1",
    "baseline.eqco-table-2.history.csv.gz": "7bd30069fd3c1329",
    "baseline.eqco-table-5.csv.gz": "56d415a132857b06",
    "baseline.eqco-table-6.csv.gz": "3e3e9d419375d7a3",
    "baseline.eqco-table-7.csv.gz": "837097a37b97f8ae",
    "baseline.eqco-table-7.history.csv.gz": "4cd7db23a1d0d8fb",
    "baseline.map-dcl.csv.gz": "e5dcefe2d1beb852",
    "baseline.map-dcl.history.csv.gz": "2e5f291a16a0d53e",
    "baseline.map-dual-temperature.csv.gz": "18a119b471f0280d",
    "baseline.map-dual-temperature.history.csv.gz": "e9267548843ee5ea",
    "baseline.map-families.csv.gz": "4c6599ae4ffadf56",
    "baseline.map-which-negatives.csv.gz": "2a5d0c52fa454f58",
    "baseline.map-which-negatives.history.csv.gz": "7fc90fadc894ef62",
    "baseline.mutual-information-figure-10.csv.gz": "a497ad83559c8d7c",
    "baseline.mutual-information-figure-4.csv.gz": "69b4bca273a59c93",
    "baseline.mutual-information-figure-4.history.csv.gz": "144bec1c243f646d",
    "baseline.mutual-information-figure-5.csv.gz": "277e019cc5a276d9",
    "baseline.mutual-information-figure-5.history.csv.gz": "4536d4b388ba4863",
    "baseline.mutual-information-table-1.csv.gz": "1e0cc6d997933ad9",
    "baseline.mutual-information-table-1.history.csv.gz": "c35d1aba9fadde19",
    "baseline.mutual-information-theorem-2-1.csv.gz": "c1de284d816ab4d0",
    "baseline.recipe-bank.csv.gz": "826271e3ccc85c23",
    "baseline.recipe-bank.history.csv.gz": "ec5f09dbff862ff2",
    "baseline.recipe-batch.csv.gz": "6fb5fc0576c22f53",
    "baseline.recipe-batch.history.csv.gz": "74130b7d4638fbdd",
    "baseline.search-bank.csv.gz": "e01b4852a14e5b53",
    "baseline.search-bank.history.csv.gz": "3d8ad352a01d3255",
    "baseline.search-queue.csv.gz": "a4f8948d1a8fd033",
    "baseline.search-queue.history.csv.gz": "07a3bc53418f3b42",
    "baseline.search-siamese.csv.gz": "976b9a4fee491865",
    "baseline.since-2022.csv.gz": "3fbaf70a3fab7b88",
    "baseline.unigrad-figure-2.csv.gz": "b092a1ec122bb76f",
    "baseline.unigrad-figure-2.history.csv.gz": "4075c085fc242acc",
    "baseline.unigrad-table-2.csv.gz": "fcf84ce42320f38d",
    "baseline.unigrad-table-6.csv.gz": "728f01a4bbe61ed1",
    "baseline.unigrad-table-6.history.csv.gz": "10c62f552a118cd2",
    "detection.eqco-table-8.csv.gz": "f2cf58d522385286",
    "detection.eqco-table-8.history.csv.gz": "4ee5594c07d90a7a",
    "detection.mutual-information-table-2b.csv.gz": "540c0cad13ac0d42",
    "detection.mutual-information-table-2b.history.csv.gz": "42203d08835b485f",
    "detection.mutual-information-table-2c.csv.gz": "877e304babc8d23c",
    "detection.mutual-information-table-2c.diverged.csv.gz": "5a68be867fb4737c",
    "detection.mutual-information-table-2c.history.csv.gz": "06d49cf97ab10e64",
    "detection.mutual-information-table-2d.csv.gz": "da27a370aa5ded2a",
    "detection.mutual-information-table-2d.history.csv.gz": "35a75296b0e28157",
    "detection.mutual-information-table-2e.csv.gz": "eac784cf5ac78196",
    "detection.mutual-information-table-2e.history.csv.gz": "e116c62b67f5515f",
    "detection.mutual-information-table-4.csv.gz": "6c86b036f015bd9a",
    "detection.mutual-information-table-4.history.csv.gz": "e2cc291b9a6f30e4",
    "detection.unigrad-table-10.csv.gz": "287870b89f0a003d",
    "digests.json": "710a929e634e0e08",
    "finetune.unigrad-table-9.csv.gz": "e41801f19973c76b",
    "gaussian-mi.csv.gz": "5a9c73cd255df350",
    "gaussian-mi.history.csv.gz": "c03dbfba72a88f81",
    "gradient-norm.csv.gz": "133196895e157167",
    "identity.csv.gz": "96a889d16d479356",
    "identity.dual-temperature-consistency.csv.gz": "d48cdfe493e5e743",
    "identity.gradient-caching.csv.gz": "f91a1db380f9f123",
    "image-text.dcl-clip.csv.gz": "1093a44235eb8339",
    "image-text.dcl-clip.history.csv.gz": "6eefc7adc595171d",
    "optimal-bound.csv.gz": "14ec3258cd1a8c63",
    "pretrain.collapse.csv.gz": "659e925920498708",
    "pretrain.collapse.history.csv.gz": "a5307c8e1efd26a1",
    "pretrain.crossings.csv.gz": "0a8b1fd4e383e667",
    "pretrain.crossings.history.csv.gz": "8985756835032af7",
    "pretrain.dcl-figure-1.arrays.npz": "7f1a260d25b7dbb8",
    "pretrain.dcl-figure-1.csv.gz": "4564d4aedf28f045",
    "pretrain.dcl-figure-1.history.csv.gz": "2a2fbbc344dd5630",
    "pretrain.dcl-figure-3b.csv.gz": "269d32f0e69d9f1f",
    "pretrain.dcl-figure-3b.history.csv.gz": "501488ed5f248527",
    "pretrain.dcl-figure-4.csv.gz": "70f5678455ef9201",
    "pretrain.dcl-figure-4.history.csv.gz": "187b8c5eba45fe6c",
    "pretrain.dcl-figure-5.csv.gz": "aa4893459095c6e5",
    "pretrain.dcl-figure-5.history.csv.gz": "9f70352b12daed14",
    "pretrain.dcl-remarks.csv.gz": "20569a33e47f8115",
    "pretrain.dcl-remarks.history.csv.gz": "dbde9492ede52680",
    "pretrain.dcl-table-1.csv.gz": "fe71c31f1d28c6fc",
    "pretrain.dcl-table-11.csv.gz": "7f35bd4c07fa3398",
    "pretrain.dcl-table-11.history.csv.gz": "f2fa6881033def9e",
    "pretrain.dcl-table-12.csv.gz": "c409687a0fb8ed36",
    "pretrain.dcl-table-12.history.csv.gz": "5d1491e77d8109f3",
    "pretrain.dcl-table-13.csv.gz": "b7c7ad7c21a890b9",
    "pretrain.dcl-table-13.history.csv.gz": "1e7af02acae521f6",
    "pretrain.dcl-table-14.csv.gz": "a4329d3aee7da181",
    "pretrain.dcl-table-14.history.csv.gz": "24576a5c73bba165",
    "pretrain.dcl-table-15.csv.gz": "b5d02e05a08d17eb",
    "pretrain.dcl-table-15.history.csv.gz": "c609191e9b1a125c",
    "pretrain.dcl-table-18.csv.gz": "39c4e66047b6319e",
    "pretrain.dcl-table-18.history.csv.gz": "5a89a63ec1109147",
    "pretrain.dcl-table-2.csv.gz": "f440b600cac46ebb",
    "pretrain.dcl-table-2.history.csv.gz": "62c6574a752a0eef",
    "pretrain.dcl-table-3.csv.gz": "ed65b975529ddeb0",
    "pretrain.dcl-table-3.history.csv.gz": "82dad8e78661deaa",
    "pretrain.dcl-table-4.csv.gz": "1d46be35ecb25193",
    "pretrain.dcl-table-4.history.csv.gz": "961d32bbbc6eee69",
    "pretrain.dcl-table-5.csv.gz": "87afb51bae0a9bb7",
    "pretrain.dcl-table-5.history.csv.gz": "ab71211ce89c5520",
    "pretrain.dcl-table-6.csv.gz": "85dad4d1064f4b19",
    "pretrain.dcl-table-6.history.csv.gz": "bf3a86383ae75b39",
    "pretrain.dcl-table-7.csv.gz": "3d342fa28c9a1eb8",
    "pretrain.dcl-table-7.history.csv.gz": "21a2078f0ceb38d0",
    "pretrain.dcl-table-8.csv.gz": "fb7675179ea2a016",
    "pretrain.dcl-table-8.history.csv.gz": "11b583948a4f523f",
    "pretrain.dcl-table-9.csv.gz": "69eaa3d201406671",
    "pretrain.dcl-table-9.history.csv.gz": "b117ccf43cd879e3",
    "pretrain.digits-balance-factor.csv.gz": "a662560c9ff337e8",
    "pretrain.digits-balance-factor.diverged.csv.gz": "1f607ce79558cf0e",
    "pretrain.digits-balance-factor.history.csv.gz": "14cb67769e479791",
    "pretrain.digits-learning-rate.csv.gz": "b1b2438214986240",
    "pretrain.digits-learning-rate.history.csv.gz": "b18c90a64f179c2e",
    "pretrain.dual-temperature-figure-1.csv.gz": "32a8c31c6ea5d6cf",
    "pretrain.dual-temperature-figure-1.history.csv.gz": "16a08f12b749603a",
    "pretrain.dual-temperature-figure-2.csv.gz": "711894f578713050",
    "pretrain.dual-temperature-figure-2.history.csv.gz": "5eda195c899ebae5",
    "pretrain.dual-temperature-main-figure-2.csv.gz": "80dc4ba2c9a154cf",
    "pretrain.dual-temperature-main-figure-2.history.csv.gz": "833406f7f79c1da2",
    "pretrain.dual-temperature-remarks.csv.gz": "0400e78fa346de6c",
    "pretrain.dual-temperature-remarks.history.csv.gz": "fad4ffd6d87ae3ad",
    "pretrain.dual-temperature-table-1.csv.gz": "782dafafb0310613",
    "pretrain.dual-temperature-table-1.history.csv.gz": "13481a3cffc6e45d",
    "pretrain.eqco-figure-1.csv.gz": "1a824040e979c6e0",
    "pretrain.eqco-figure-1.history.csv.gz": "f22ef69c8c34c5cc",
    "pretrain.eqco-figure-2.csv.gz": "9b200e6f070f018f",
    "pretrain.eqco-figure-2.history.csv.gz": "b3a52ae64a60cc5a",
    "pretrain.eqco-figure-3.csv.gz": "a1484f7e099afa47",
    "pretrain.eqco-figure-3.history.csv.gz": "f460dfaf2c5546ec",
    "pretrain.eqco-figure-4.csv.gz": "1a824040e979c6e0",
    "pretrain.eqco-figure-4.history.csv.gz": "7cbc50d4d1837d40",
    "pretrain.eqco-learning-rate.csv.gz": "1a1c07547bd90c1f",
    "pretrain.eqco-learning-rate.history.csv.gz": "fa28810a20f04c9a",
    "pretrain.eqco-simo-and-moco.csv.gz": "f10a550d8a0b6c31",
    "pretrain.eqco-simo-and-moco.history.csv.gz": "cac7379afe2be0d3",
    "pretrain.eqco-table-1.csv.gz": "099966bdc923730c",
    "pretrain.eqco-table-1.history.csv.gz": "6cd6d7fe519f9875",
    "pretrain.eqco-table-2.csv.gz": "bebc3ba23726c999",
    "pretrain.eqco-table-2.history.csv.gz": "3626febe2e18ff83",
    "pretrain.eqco-table-3.csv.gz": "77ff826ab04d1024",
    "pretrain.eqco-table-3.history.csv.gz": "ea528bfca4783b49",
    "pretrain.eqco-table-4.csv.gz": "3251a4c76d0771cc",
    "pretrain.eqco-table-4.history.csv.gz": "4aed2fc035ca08b5",
    "pretrain.eqco-table-5.csv.gz": "db09f7741a01d92a",
    "pretrain.eqco-table-5.history.csv.gz": "10920ae1842377b9",
    "pretrain.eqco-table-6.csv.gz": "ad826855c6d5c130",
    "pretrain.eqco-table-6.history.csv.gz": "b239bf3ead3a4478",
    "pretrain.eqco-table-7.csv.gz": "e6b87f8e810f6306",
    "pretrain.eqco-table-7.history.csv.gz": "d789ce18109faf18",
    "pretrain.map-dcl-q-b.csv.gz": "20d2a7846fa1b382",
    "pretrain.map-dcl-q-b.history.csv.gz": "5a4ca7a722d96e4b",
    "pretrain.map-dcl-rates.csv.gz": "15752c29ff88cefc",
    "pretrain.map-dcl-rates.history.csv.gz": "c3231a609ecb6c19",
    "pretrain.map-dcl.csv.gz": "5e3bff6263a73d6c",
    "pretrain.map-dcl.history.csv.gz": "315fab622db3a0ea",
    "pretrain.map-dual-temperature.csv.gz": "4a8fb022936105b5",
    "pretrain.map-dual-temperature.history.csv.gz": "7174bae5f0c8e119",
    "pretrain.map-families.csv.gz": "c9c0cfaec9ac28ae",
    "pretrain.map-families.history.csv.gz": "dc067104a2517197",
    "pretrain.map-negatives.csv.gz": "0536867a5969adcb",
    "pretrain.map-negatives.history.csv.gz": "2e06cd3e1752f489",
    "pretrain.map-temperature.csv.gz": "92c78547eadf39e5",
    "pretrain.map-temperature.history.csv.gz": "f673e5f8996989e2",
    "pretrain.map-which-negatives.csv.gz": "384c0cfa5b158b09",
    "pretrain.map-which-negatives.history.csv.gz": "c4f69cbe91504357",
    "pretrain.mutual-information-figure-10.csv.gz": "7e04525c0df4fb06",
    "pretrain.mutual-information-figure-10.history.csv.gz": "ee38ff3408922c64",
    "pretrain.mutual-information-figure-2.csv.gz": "db3d6841643167f0",
    "pretrain.mutual-information-figure-2.history.csv.gz": "f8ddaa2b658a553b",
    "pretrain.mutual-information-figure-4.csv.gz": "107239ac992c1387",
    "pretrain.mutual-information-figure-4.history.csv.gz": "cf603d49899d3760",
    "pretrain.mutual-information-figure-5.csv.gz": "a46af1d2dfef0748",
    "pretrain.mutual-information-figure-5.history.csv.gz": "5c5eb318814200c8",
    "pretrain.mutual-information-figure-7.csv.gz": "352f80034dbb39fb",
    "pretrain.mutual-information-figure-7.history.csv.gz": "a54fcedd921eeb59",
    "pretrain.mutual-information-figure-8.csv.gz": "6f65b1868fa4cc73",
    "pretrain.mutual-information-figure-8.history.csv.gz": "29d11c66e46d3007",
    "pretrain.mutual-information-figure-9.csv.gz": "d10e9c36ad970922",
    "pretrain.mutual-information-figure-9.history.csv.gz": "93237255f26e9534",
    "pretrain.mutual-information-table-1.csv.gz": "7c12bc90c4cbeb62",
    "pretrain.mutual-information-table-1.history.csv.gz": "51c0a4e8ee573e13",
    "pretrain.mutual-information-theorem-2-1.csv.gz": "4c21955046e07bbd",
    "pretrain.near-to-what.csv.gz": "d7a552cbf893c4d9",
    "pretrain.near-to-what.history.csv.gz": "fad6f9f9a476f5ab",
    "pretrain.recipe-bank.csv.gz": "d36c4805c7911db5",
    "pretrain.recipe-bank.history.csv.gz": "ef9f40e676e70644",
    "pretrain.recipe-batch.csv.gz": "85ca90aadb9ff61d",
    "pretrain.recipe-batch.history.csv.gz": "cc30648890745656",
    "pretrain.recipe-predictor.csv.gz": "524912e0c6141167",
    "pretrain.recipe-predictor.history.csv.gz": "462b7bcbb646eda0",
    "pretrain.recipe-queue.csv.gz": "91ca4eaf7b90101a",
    "pretrain.recipe-queue.history.csv.gz": "752ace4965295212",
    "pretrain.search-bank-constant.csv.gz": "f6c8a5441f2bbbcd",
    "pretrain.search-bank-constant.history.csv.gz": "bbdacf5d16cacb58",
    "pretrain.search-bank.csv.gz": "665b3b13bcbea4e8",
    "pretrain.search-bank.history.csv.gz": "e770e9c3a99a1803",
    "pretrain.search-batch.csv.gz": "1f0df6ce0e397061",
    "pretrain.search-batch.history.csv.gz": "36b4662e6f532b13",
    "pretrain.search-dclw.csv.gz": "c32d74e58b973da0",
    "pretrain.search-dclw.history.csv.gz": "63cb47b907e9f1bf",
    "pretrain.search-hypersphere.csv.gz": "4af8a8469b279770",
    "pretrain.search-map-dcl.csv.gz": "ec5c8d0ca7366e2d",
    "pretrain.search-map-dcl.history.csv.gz": "6523bc659abf0569",
    "pretrain.search-map-dual-temperature.csv.gz": "fbe13ffaa6dd06cc",
    "pretrain.search-map-dual-temperature.history.csv.gz": "6ac667ea28704794",
    "pretrain.search-map-families.csv.gz": "7a21ef17735873a0",
    "pretrain.search-map-families.diverged.csv.gz": "a05bf9a12f60d074",
    "pretrain.search-map-families.history.csv.gz": "8549510c02031465",
    "pretrain.search-map-negatives.csv.gz": "d29cfcc6306d6a14",
    "pretrain.search-map-negatives.history.csv.gz": "6dd2b61716f881f1",
    "pretrain.search-map-temperature.csv.gz": "9d0482df10e711c3",
    "pretrain.search-map-temperature.history.csv.gz": "03f2b3f0129c03c9",
    "pretrain.search-map-which-negatives.csv.gz": "dcd21bb8782e6a10",
    "pretrain.search-map-which-negatives.history.csv.gz": "e7f529efdeead031",
    "pretrain.search-prototypes.csv.gz": "e2bc4a6e32fd3927",
    "pretrain.search-prototypes.history.csv.gz": "40b8ba7b11e15918",
    "pretrain.search-queue.csv.gz": "232c3495c29959d2",
    "pretrain.search-queue.history.csv.gz": "66a65c920dbf05ab",
    "pretrain.search-siamese.csv.gz": "63a1cb69fac3198a",
    "pretrain.search-siamese.diverged.csv.gz": "5407361b58cdb8cf",
    "pretrain.search-siamese.history.csv.gz": "50f04a98fe01c3b1",
    "pretrain.search-simo.csv.gz": "fa7d3a9b677a1145",
    "pretrain.search-since-2022.csv.gz": "1106abaf148f4636",
    "pretrain.since-2022.csv.gz": "23fadf134b187566",
    "pretrain.unigrad-eigenspaces.csv.gz": "19eb6b15f8db3b98",
    "pretrain.unigrad-eigenspaces.history.csv.gz": "415d8ea6a1279553",
    "pretrain.unigrad-figure-2.csv.gz": "76a59c12ef2928db",
    "pretrain.unigrad-figure-2.history.csv.gz": "36c45b94eeb588a5",
    "pretrain.unigrad-table-2.csv.gz": "fd3f97c3211e8010",
    "pretrain.unigrad-table-2.history.csv.gz": "32d9083eab3417d2",
    "pretrain.unigrad-table-3.csv.gz": "b5aabc1ad7cdaf71",
    "pretrain.unigrad-table-3.history.csv.gz": "4939764ac401c9db",
    "pretrain.unigrad-table-4.csv.gz": "fa01821644865cb1",
    "pretrain.unigrad-table-4.history.csv.gz": "5287e8394a4e509c",
    "pretrain.unigrad-table-6.csv.gz": "668195b83f503d5a",
    "pretrain.unigrad-table-6.history.csv.gz": "5fa8ba117f3d8fd3",
    "pretrain.unigrad-table-7.csv.gz": "27a1d2e4356c809a",
    "pretrain.unigrad-table-7.history.csv.gz": "0988f19dd6b59fbe",
    "pretrain.unigrad-table-8.csv.gz": "2926c1c732fcc3c9",
    "pretrain.unigrad-table-8.history.csv.gz": "6cecab144887a2b3",
    "speech-baseline.dcl-table-16.csv.gz": "c98fd1f35e332522",
    "speech-baseline.dcl-table-16.history.csv.gz": "b2ed9562df371422",
    "speech.dcl-table-16.csv.gz": "d150cf219914fcb3",
    "speech.dcl-table-16.history.csv.gz": "3ac881df3886c419",
    "spirals.arrays.npz": "3479638ee645333d",
    "spirals.csv.gz": "332e892d47c63be3",
    "spirals.history.csv.gz": "efd8f20a5d920fc1",
    "supervised.dcl-table-17.csv.gz": "4fbf1c2b775b636d",
    "supervised.dcl-table-17.history.csv.gz": "f952bec5bbd5ad2f",
    "supervised.dual-temperature-table-2.csv.gz": "901bbf8a9e0abe09",
    "supervised.dual-temperature-table-2.history.csv.gz": "4f3243ebed776c2a",
    "supervised.recipe-supervised.csv.gz": "5a0a4654b9218a0e",
    "supervised.recipe-supervised.history.csv.gz": "f11dfecd563c0561",
    "supervised.search-classifier.csv.gz": "602f0be4dcf52336",
    "supervised.search-classifier.history.csv.gz": "1f0b44c08a498f45",
    "tsne.dcl-figure-4c.arrays.npz": "1375c5f31655a029",
    "tsne.dcl-figure-4c.csv.gz": "a1a31568abf397e7",
    "vince-gaussian.csv.gz": "0dd0b841e4408562",
    "vince-gaussian.history.csv.gz": "5e88cc5eb90cf7d5",
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
