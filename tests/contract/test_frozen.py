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
    "baseline.dcl-figure-4.history.csv.gz": "4bb0b3eb027187da",
    "baseline.dcl-figure-5.csv.gz": "2939981b14e671c7",
    "baseline.dcl-figure-5.history.csv.gz": "a132d5a8fdcfcaf0",
    "baseline.dcl-remarks.csv.gz": "3c13028a76f29c1a",
    "baseline.dcl-remarks.history.csv.gz": "5d041b7493a66198",
    "baseline.dcl-table-11.csv.gz": "d17addeb63c812b9",
    "baseline.dcl-table-15.csv.gz": "43c2ba0e706dc4d7",
    "baseline.dcl-table-15.history.csv.gz": "170aa69378f4db40",
    "baseline.dcl-table-6.csv.gz": "2d186f2ad5ccb9ac",
    "baseline.dcl-table-6.history.csv.gz": "ffe9c93ca6bdaeed",
    "baseline.dcl-table-7.csv.gz": "7342dfa45025c222",
    "baseline.dcl-table-7.history.csv.gz": "c134696f43af7368",
    "baseline.digits-balance-factor.csv.gz": "ad4f1f48d3c1ce98",
    "baseline.digits-balance-factor.history.csv.gz": "9fcb246f23a65faa",
    "baseline.digits-learning-rate.csv.gz": "b6e4ac591397369c",
    "baseline.digits-learning-rate.history.csv.gz": "4f63f46a059bcc3c",
    "baseline.dual-temperature-table-1.csv.gz": "49244ca3d18fe51e",
    "baseline.dual-temperature-table-1.history.csv.gz": "b5d16f258edb2e98",
    "baseline.eqco-table-2.csv.gz": "e9b234672ddb7cf1",
    "baseline.eqco-table-2.history.csv.gz": "0ede5f4b8674380e",
    "baseline.eqco-table-5.csv.gz": "56d415a132857b06",
    "baseline.eqco-table-6.csv.gz": "3e3e9d419375d7a3",
    "baseline.eqco-table-7.csv.gz": "3ff265587b408a6a",
    "baseline.eqco-table-7.history.csv.gz": "1970ca73952ce430",
    "baseline.map-dcl.csv.gz": "e5dcefe2d1beb852",
    "baseline.map-dcl.history.csv.gz": "d4b524715bc31ad4",
    "baseline.map-dual-temperature.csv.gz": "18a119b471f0280d",
    "baseline.map-dual-temperature.history.csv.gz": "63fae49573ed2cd7",
    "baseline.map-families.csv.gz": "4c6599ae4ffadf56",
    "baseline.map-which-negatives.csv.gz": "2a5d0c52fa454f58",
    "baseline.map-which-negatives.history.csv.gz": "f1962ff26533e732",
    "baseline.mutual-information-figure-10.csv.gz": "a497ad83559c8d7c",
    "baseline.mutual-information-figure-4.csv.gz": "69b4bca273a59c93",
    "baseline.mutual-information-figure-4.history.csv.gz": "abe911806649452e",
    "baseline.mutual-information-figure-5.csv.gz": "277e019cc5a276d9",
    "baseline.mutual-information-figure-5.history.csv.gz": "6a5cefd086f8b82a",
    "baseline.mutual-information-table-1.csv.gz": "1e0cc6d997933ad9",
    "baseline.mutual-information-table-1.history.csv.gz": "28a7a7a781b9ac72",
    "baseline.mutual-information-theorem-2-1.csv.gz": "c1de284d816ab4d0",
    "baseline.recipe-bank.csv.gz": "826271e3ccc85c23",
    "baseline.recipe-bank.history.csv.gz": "f1a41fc8603902d3",
    "baseline.recipe-batch.csv.gz": "6fb5fc0576c22f53",
    "baseline.recipe-batch.history.csv.gz": "f2b665b8d7520b7a",
    "baseline.search-bank.csv.gz": "e01b4852a14e5b53",
    "baseline.search-bank.history.csv.gz": "d3af4ca88e4f9f68",
    "baseline.search-queue.csv.gz": "a4f8948d1a8fd033",
    "baseline.search-queue.history.csv.gz": "1b5a07d4e9e25c4c",
    "baseline.search-siamese.csv.gz": "976b9a4fee491865",
    "baseline.since-2022.csv.gz": "3fbaf70a3fab7b88",
    "baseline.unigrad-figure-2.csv.gz": "70bb6c38f2b7f8af",
    "baseline.unigrad-figure-2.history.csv.gz": "57c66b8f34917791",
    "baseline.unigrad-table-2.csv.gz": "fcf84ce42320f38d",
    "baseline.unigrad-table-6.csv.gz": "e6dcd99b3d34fd3a",
    "detection.eqco-table-8.csv.gz": "94357bb857ae14de",
    "detection.eqco-table-8.history.csv.gz": "5f496dd7b3769451",
    "detection.mutual-information-table-2b.csv.gz": "540c0cad13ac0d42",
    "detection.mutual-information-table-2b.history.csv.gz": "644a6425efcbcd57",
    "detection.mutual-information-table-2c.csv.gz": "877e304babc8d23c",
    "detection.mutual-information-table-2c.diverged.csv.gz": "5a68be867fb4737c",
    "detection.mutual-information-table-2c.history.csv.gz": "4fd18d5cae5a31dc",
    "detection.mutual-information-table-2d.csv.gz": "da27a370aa5ded2a",
    "detection.mutual-information-table-2d.history.csv.gz": "f5578263dcef01b1",
    "detection.mutual-information-table-2e.csv.gz": "eac784cf5ac78196",
    "detection.mutual-information-table-2e.history.csv.gz": "1539ca7ca74ae6e9",
    "detection.mutual-information-table-4.csv.gz": "6c86b036f015bd9a",
    "detection.mutual-information-table-4.history.csv.gz": "0ce87b915776f15f",
    "detection.unigrad-table-10.csv.gz": "2022c8f2f59ddd09",
    "detection.unigrad-table-10.history.csv.gz": "fcaaa454c9af5f76",
    "digests.json": "c3005a71936ceac8",
    "finetune.unigrad-table-9.csv.gz": "e15ed0501db00a4b",
    "finetune.unigrad-table-9.history.csv.gz": "8c12da3bc76d28ab",
    "gaussian-mi.csv.gz": "5a9c73cd255df350",
    "gaussian-mi.history.csv.gz": "c03dbfba72a88f81",
    "gradient-norm.csv.gz": "133196895e157167",
    "identity.csv.gz": "96a889d16d479356",
    "identity.dual-temperature-consistency.csv.gz": "d48cdfe493e5e743",
    "identity.gradient-caching.csv.gz": "f91a1db380f9f123",
    "image-text.dcl-clip.csv.gz": "1093a44235eb8339",
    "image-text.dcl-clip.history.csv.gz": "325f012931e90007",
    "optimal-bound.csv.gz": "14ec3258cd1a8c63",
    "pretrain.collapse.csv.gz": "659e925920498708",
    "pretrain.collapse.history.csv.gz": "b8c28b9839da1cc7",
    "pretrain.crossings.csv.gz": "0a8b1fd4e383e667",
    "pretrain.crossings.history.csv.gz": "280c715a40f36b8a",
    "pretrain.dcl-figure-1.arrays.npz": "7f1a260d25b7dbb8",
    "pretrain.dcl-figure-1.csv.gz": "4564d4aedf28f045",
    "pretrain.dcl-figure-1.history.csv.gz": "2fae15dff2a0011d",
    "pretrain.dcl-figure-3b.csv.gz": "3a69ea30304726cd",
    "pretrain.dcl-figure-3b.history.csv.gz": "651f8c58ffd06896",
    "pretrain.dcl-figure-4.csv.gz": "70f5678455ef9201",
    "pretrain.dcl-figure-4.history.csv.gz": "4741e34bd4a0cf7d",
    "pretrain.dcl-figure-5.csv.gz": "8c0fdbf74bfc8f89",
    "pretrain.dcl-figure-5.history.csv.gz": "3e4508555ff60aa6",
    "pretrain.dcl-remarks.csv.gz": "20569a33e47f8115",
    "pretrain.dcl-remarks.history.csv.gz": "c13bdd9e994591f4",
    "pretrain.dcl-table-1.csv.gz": "fe71c31f1d28c6fc",
    "pretrain.dcl-table-11.csv.gz": "7f35bd4c07fa3398",
    "pretrain.dcl-table-11.history.csv.gz": "99e786d25e4c7b94",
    "pretrain.dcl-table-12.csv.gz": "2cb227fba2855949",
    "pretrain.dcl-table-12.history.csv.gz": "e9fbf4d337bddc04",
    "pretrain.dcl-table-13.csv.gz": "b7c7ad7c21a890b9",
    "pretrain.dcl-table-13.history.csv.gz": "e8d57b72881badd1",
    "pretrain.dcl-table-14.csv.gz": "a4329d3aee7da181",
    "pretrain.dcl-table-14.history.csv.gz": "90e42c06dba9a622",
    "pretrain.dcl-table-15.csv.gz": "b5d02e05a08d17eb",
    "pretrain.dcl-table-15.history.csv.gz": "06de7318a1c1cdbd",
    "pretrain.dcl-table-18.csv.gz": "925ef2941ac69a43",
    "pretrain.dcl-table-18.history.csv.gz": "adda84034a097a1f",
    "pretrain.dcl-table-2.csv.gz": "68408ae7f1aa4f52",
    "pretrain.dcl-table-2.history.csv.gz": "6d57b03edee72bd9",
    "pretrain.dcl-table-3.csv.gz": "ed65b975529ddeb0",
    "pretrain.dcl-table-3.history.csv.gz": "fb14a3cf91c90563",
    "pretrain.dcl-table-4.csv.gz": "1d46be35ecb25193",
    "pretrain.dcl-table-4.history.csv.gz": "b288f58cb9b6d6bb",
    "pretrain.dcl-table-5.csv.gz": "87afb51bae0a9bb7",
    "pretrain.dcl-table-5.history.csv.gz": "2c28cf8662e03891",
    "pretrain.dcl-table-6.csv.gz": "85dad4d1064f4b19",
    "pretrain.dcl-table-6.history.csv.gz": "d9a1bdf74c1409ee",
    "pretrain.dcl-table-7.csv.gz": "3d342fa28c9a1eb8",
    "pretrain.dcl-table-7.history.csv.gz": "42d617796cbade59",
    "pretrain.dcl-table-8.csv.gz": "0f7c6697ae283f8f",
    "pretrain.dcl-table-8.history.csv.gz": "d3cf65e1f4eb9dc8",
    "pretrain.dcl-table-9.csv.gz": "69eaa3d201406671",
    "pretrain.dcl-table-9.history.csv.gz": "5fb0b01f97bf8f5d",
    "pretrain.digits-balance-factor.csv.gz": "039e5139c9cd5494",
    "pretrain.digits-balance-factor.diverged.csv.gz": "1f607ce79558cf0e",
    "pretrain.digits-balance-factor.history.csv.gz": "3c0cf2fb294c2712",
    "pretrain.digits-learning-rate.csv.gz": "b1b2438214986240",
    "pretrain.digits-learning-rate.history.csv.gz": "4043647eb02fa1a3",
    "pretrain.dual-temperature-figure-1.csv.gz": "32a8c31c6ea5d6cf",
    "pretrain.dual-temperature-figure-1.history.csv.gz": "336242efe58bf3ae",
    "pretrain.dual-temperature-figure-2.csv.gz": "9d65afab2dd721c9",
    "pretrain.dual-temperature-figure-2.history.csv.gz": "44a449e31f9a6225",
    "pretrain.dual-temperature-main-figure-2.csv.gz": "f2905e147152756b",
    "pretrain.dual-temperature-main-figure-2.history.csv.gz": "670e2fdf65f39f7e",
    "pretrain.dual-temperature-remarks.csv.gz": "0400e78fa346de6c",
    "pretrain.dual-temperature-remarks.history.csv.gz": "daf3a8c35aca51c0",
    "pretrain.dual-temperature-table-1.csv.gz": "c7d6680986585f6e",
    "pretrain.dual-temperature-table-1.history.csv.gz": "12eb11538798b84c",
    "pretrain.eqco-figure-1.csv.gz": "1a824040e979c6e0",
    "pretrain.eqco-figure-1.history.csv.gz": "d79f83633a135292",
    "pretrain.eqco-figure-2.csv.gz": "4ce4a9651ff66bbc",
    "pretrain.eqco-figure-2.history.csv.gz": "cdcae7e6d3b76aa5",
    "pretrain.eqco-figure-3.csv.gz": "a1484f7e099afa47",
    "pretrain.eqco-figure-3.history.csv.gz": "c50ecc9477ec2531",
    "pretrain.eqco-figure-4.csv.gz": "1a824040e979c6e0",
    "pretrain.eqco-figure-4.history.csv.gz": "828950fc285312b3",
    "pretrain.eqco-learning-rate.csv.gz": "1a1c07547bd90c1f",
    "pretrain.eqco-learning-rate.history.csv.gz": "257c24f8b2fb8258",
    "pretrain.eqco-simo-and-moco.csv.gz": "f10a550d8a0b6c31",
    "pretrain.eqco-simo-and-moco.history.csv.gz": "ae1cf7a111d3d088",
    "pretrain.eqco-table-1.csv.gz": "099966bdc923730c",
    "pretrain.eqco-table-1.history.csv.gz": "1684ca895c6032ce",
    "pretrain.eqco-table-2.csv.gz": "bebc3ba23726c999",
    "pretrain.eqco-table-2.history.csv.gz": "a4303183ad4b9895",
    "pretrain.eqco-table-3.csv.gz": "77ff826ab04d1024",
    "pretrain.eqco-table-3.history.csv.gz": "42bc33886dd119e4",
    "pretrain.eqco-table-4.csv.gz": "3251a4c76d0771cc",
    "pretrain.eqco-table-4.history.csv.gz": "9838e6aeafeeee7f",
    "pretrain.eqco-table-5.csv.gz": "db09f7741a01d92a",
    "pretrain.eqco-table-5.history.csv.gz": "6b4ad2e59b2a992a",
    "pretrain.eqco-table-6.csv.gz": "ad826855c6d5c130",
    "pretrain.eqco-table-6.history.csv.gz": "775b3eb8a945b060",
    "pretrain.eqco-table-7.csv.gz": "32005d52690648bc",
    "pretrain.eqco-table-7.history.csv.gz": "965f531e7f99136c",
    "pretrain.map-dcl-q-b.csv.gz": "20d2a7846fa1b382",
    "pretrain.map-dcl-q-b.history.csv.gz": "60bee3a3f6f96cae",
    "pretrain.map-dcl-rates.csv.gz": "15752c29ff88cefc",
    "pretrain.map-dcl-rates.history.csv.gz": "62900228651ba8be",
    "pretrain.map-dcl.csv.gz": "5e3bff6263a73d6c",
    "pretrain.map-dcl.history.csv.gz": "b520e5daaf426236",
    "pretrain.map-dual-temperature.csv.gz": "4a8fb022936105b5",
    "pretrain.map-dual-temperature.history.csv.gz": "f1c802ecba241b16",
    "pretrain.map-families.csv.gz": "91dd7725f9ab32f9",
    "pretrain.map-families.history.csv.gz": "1755fb602e73a02e",
    "pretrain.map-negatives.csv.gz": "0536867a5969adcb",
    "pretrain.map-negatives.history.csv.gz": "628777c9f192aa07",
    "pretrain.map-temperature.csv.gz": "92c78547eadf39e5",
    "pretrain.map-temperature.history.csv.gz": "6e10b7802380bac6",
    "pretrain.map-which-negatives.csv.gz": "384c0cfa5b158b09",
    "pretrain.map-which-negatives.history.csv.gz": "b42b82808b0c2475",
    "pretrain.mutual-information-figure-10.csv.gz": "7e04525c0df4fb06",
    "pretrain.mutual-information-figure-10.history.csv.gz": "a94bd4936682b8ee",
    "pretrain.mutual-information-figure-2.csv.gz": "db3d6841643167f0",
    "pretrain.mutual-information-figure-2.history.csv.gz": "634b1a9ebccef32d",
    "pretrain.mutual-information-figure-4.csv.gz": "107239ac992c1387",
    "pretrain.mutual-information-figure-4.history.csv.gz": "ddd86c13bc1981b5",
    "pretrain.mutual-information-figure-5.csv.gz": "ff46e53f6f46afb8",
    "pretrain.mutual-information-figure-5.history.csv.gz": "ee2da0f749022f81",
    "pretrain.mutual-information-figure-7.csv.gz": "352f80034dbb39fb",
    "pretrain.mutual-information-figure-7.history.csv.gz": "1c306de5c7d6a013",
    "pretrain.mutual-information-figure-8.csv.gz": "6f65b1868fa4cc73",
    "pretrain.mutual-information-figure-8.history.csv.gz": "51796361f14dae4b",
    "pretrain.mutual-information-figure-9.csv.gz": "d10e9c36ad970922",
    "pretrain.mutual-information-figure-9.history.csv.gz": "4f208885e2ff42fb",
    "pretrain.mutual-information-table-1.csv.gz": "7c12bc90c4cbeb62",
    "pretrain.mutual-information-table-1.history.csv.gz": "d47c76167d0bcf0a",
    "pretrain.mutual-information-theorem-2-1.csv.gz": "4c21955046e07bbd",
    "pretrain.near-to-what.csv.gz": "d7a552cbf893c4d9",
    "pretrain.near-to-what.history.csv.gz": "01ba4e757856afd4",
    "pretrain.recipe-bank.csv.gz": "d36c4805c7911db5",
    "pretrain.recipe-bank.history.csv.gz": "e816d262f9b0bd3f",
    "pretrain.recipe-batch.csv.gz": "85ca90aadb9ff61d",
    "pretrain.recipe-batch.history.csv.gz": "c16c26381892625b",
    "pretrain.recipe-predictor.csv.gz": "524912e0c6141167",
    "pretrain.recipe-predictor.history.csv.gz": "09594cc80d0bbf96",
    "pretrain.recipe-queue.csv.gz": "91ca4eaf7b90101a",
    "pretrain.recipe-queue.history.csv.gz": "573bf70710e47a17",
    "pretrain.search-bank-constant.csv.gz": "f6c8a5441f2bbbcd",
    "pretrain.search-bank-constant.history.csv.gz": "1c5bef84db309918",
    "pretrain.search-bank.csv.gz": "665b3b13bcbea4e8",
    "pretrain.search-bank.history.csv.gz": "f73455c30d53d8b5",
    "pretrain.search-batch.csv.gz": "1f0df6ce0e397061",
    "pretrain.search-batch.history.csv.gz": "49fed024342ce6e0",
    "pretrain.search-dcl-table-8.csv.gz": "23da0b9fdc7a8262",
    "pretrain.search-dcl-table-8.diverged.csv.gz": "3609cc1818bb77b5",
    "pretrain.search-dcl-table-8.history.csv.gz": "f32ba98dfe1aed11",
    "pretrain.search-dclw.csv.gz": "c32d74e58b973da0",
    "pretrain.search-dclw.history.csv.gz": "9a75ea7d61fd327f",
    "pretrain.search-hypersphere.csv.gz": "4af8a8469b279770",
    "pretrain.search-map-dcl.csv.gz": "ec5c8d0ca7366e2d",
    "pretrain.search-map-dcl.history.csv.gz": "7fde3ebdac1cd26b",
    "pretrain.search-map-dual-temperature.csv.gz": "fbe13ffaa6dd06cc",
    "pretrain.search-map-dual-temperature.history.csv.gz": "a03a031eb405a3e5",
    "pretrain.search-map-families.csv.gz": "7a21ef17735873a0",
    "pretrain.search-map-families.diverged.csv.gz": "a05bf9a12f60d074",
    "pretrain.search-map-families.history.csv.gz": "0448dd7f5aae711b",
    "pretrain.search-map-negatives.csv.gz": "d29cfcc6306d6a14",
    "pretrain.search-map-negatives.history.csv.gz": "f057225265775d23",
    "pretrain.search-map-temperature.csv.gz": "9d0482df10e711c3",
    "pretrain.search-map-temperature.history.csv.gz": "21d02899cc3068ef",
    "pretrain.search-map-which-negatives.csv.gz": "dcd21bb8782e6a10",
    "pretrain.search-map-which-negatives.history.csv.gz": "345719e5bc9e06af",
    "pretrain.search-prototypes.csv.gz": "7b4ecf7c60aa374d",
    "pretrain.search-prototypes.history.csv.gz": "03bd9761294d5e93",
    "pretrain.search-queue.csv.gz": "232c3495c29959d2",
    "pretrain.search-queue.history.csv.gz": "ce0dccee782c4f5c",
    "pretrain.search-siamese.csv.gz": "63a1cb69fac3198a",
    "pretrain.search-siamese.diverged.csv.gz": "1de8c5e3ea318e6d",
    "pretrain.search-siamese.history.csv.gz": "bfd1c71205ec9df2",
    "pretrain.search-simo.csv.gz": "fa7d3a9b677a1145",
    "pretrain.search-since-2022.csv.gz": "1106abaf148f4636",
    "pretrain.since-2022.csv.gz": "23fadf134b187566",
    "pretrain.unigrad-eigenspaces.csv.gz": "7f1dfcf5b184a1cc",
    "pretrain.unigrad-eigenspaces.history.csv.gz": "3a0c7b7d4e5d4f48",
    "pretrain.unigrad-figure-2.csv.gz": "d9d435a4a3d4d826",
    "pretrain.unigrad-figure-2.history.csv.gz": "04ac61e6480372b7",
    "pretrain.unigrad-table-2.csv.gz": "940f8a0c7b3762db",
    "pretrain.unigrad-table-2.history.csv.gz": "0689764d18ecf712",
    "pretrain.unigrad-table-3.csv.gz": "cd5ce2cb3c2d0c7b",
    "pretrain.unigrad-table-3.history.csv.gz": "4ff8b8c5c4346528",
    "pretrain.unigrad-table-4.csv.gz": "c4116aca8ed15141",
    "pretrain.unigrad-table-4.history.csv.gz": "f51753acb2ea3ec4",
    "pretrain.unigrad-table-6.csv.gz": "56731fbcdcd27ca2",
    "pretrain.unigrad-table-6.history.csv.gz": "44391c6151f266db",
    "pretrain.unigrad-table-7.csv.gz": "5603b8d15be8b49e",
    "pretrain.unigrad-table-7.history.csv.gz": "ec30904e737dfe7b",
    "pretrain.unigrad-table-8.csv.gz": "39b65228261e682b",
    "pretrain.unigrad-table-8.history.csv.gz": "637f037de4574e9b",
    "speech-baseline.dcl-table-16.csv.gz": "c98fd1f35e332522",
    "speech-baseline.dcl-table-16.history.csv.gz": "c451a66630c2cf05",
    "speech.dcl-table-16.csv.gz": "d150cf219914fcb3",
    "speech.dcl-table-16.history.csv.gz": "23447c9e013cb579",
    "spirals.arrays.npz": "3479638ee645333d",
    "spirals.csv.gz": "332e892d47c63be3",
    "spirals.history.csv.gz": "fa1126f29763e98f",
    "supervised.dcl-table-17.csv.gz": "6076cef65c81df80",
    "supervised.dcl-table-17.history.csv.gz": "bedb9114e27a6e6b",
    "supervised.dual-temperature-table-2.csv.gz": "901bbf8a9e0abe09",
    "supervised.dual-temperature-table-2.history.csv.gz": "f61aa1469c6dbead",
    "supervised.recipe-supervised.csv.gz": "5a0a4654b9218a0e",
    "supervised.recipe-supervised.history.csv.gz": "9db2ace51171f2f8",
    "supervised.search-classifier.csv.gz": "ba319b7928b66775",
    "supervised.search-classifier.history.csv.gz": "34b8d8b2711ae685",
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
