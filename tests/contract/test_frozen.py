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
    "baseline.collapse.csv.gz": "1f8db27ee5b4ad6e",
    "baseline.dcl-figure-4.csv.gz": "4abc9a80d21e17c3",
    "baseline.dcl-figure-4.history.csv.gz": "a0069038a7d5f70c",
    "baseline.dcl-remarks.csv.gz": "f6cb0c1632fef253",
    "baseline.dcl-remarks.history.csv.gz": "07da508d984684db",
    "baseline.dcl-table-1.csv.gz": "4abc9a80d21e17c3",
    "baseline.dcl-table-11.csv.gz": "cd5419dd4d2315ac",
    "baseline.dcl-table-15.csv.gz": "509df3ab6f48c835",
    "baseline.dcl-table-15.history.csv.gz": "4d9c23f4bc5a9d84",
    "baseline.dcl-table-2.csv.gz": "4abc9a80d21e17c3",
    "baseline.dcl-table-3.csv.gz": "da862640e9964fe7",
    "baseline.dcl-table-3.history.csv.gz": "8b8aa5254884a3f3",
    "baseline.dcl-table-6.csv.gz": "4e27bd9c7dd30894",
    "baseline.dcl-table-6.history.csv.gz": "ce4cb693288fd532",
    "baseline.dcl-table-7.csv.gz": "9d5a610a43ece43c",
    "baseline.dcl-table-7.history.csv.gz": "4d080b59a500202e",
    "baseline.dual-temperature-figure-2.csv.gz": "e905b8d63a0c0993",
    "baseline.dual-temperature-table-1.csv.gz": "e905b8d63a0c0993",
    "baseline.dual-temperature-table-1.history.csv.gz": "a7da0605b2965793",
    "baseline.eqco-figure-2.csv.gz": "e905b8d63a0c0993",
    "baseline.eqco-table-1.csv.gz": "e905b8d63a0c0993",
    "baseline.eqco-table-2.csv.gz": "bb67cf180a50d2f6",
    "baseline.eqco-table-2.history.csv.gz": "fa155b6516eb7b4f",
    "baseline.eqco-table-3.csv.gz": "a33d6fd15026e07b",
    "baseline.eqco-table-3.history.csv.gz": "3bbd2222ccef6ead",
    "baseline.eqco-table-4.csv.gz": "a33d6fd15026e07b",
    "baseline.eqco-table-4.history.csv.gz": "3bbd2222ccef6ead",
    "baseline.eqco-table-5.csv.gz": "d7e257a6f1c49a77",
    "baseline.eqco-table-6.csv.gz": "ee10f055d2121a94",
    "baseline.eqco-table-7.csv.gz": "4e2893af59b587b6",
    "baseline.eqco-table-7.history.csv.gz": "cc4c2c59c116da6f",
    "baseline.map-dcl.csv.gz": "5c68b9f51c2626d0",
    "baseline.map-dcl.history.csv.gz": "d275b1a9f2d7af2d",
    "baseline.map-dual-temperature.csv.gz": "8e55945073e1b8f0",
    "baseline.map-dual-temperature.history.csv.gz": "6ab4229c949a9806",
    "baseline.map-families.csv.gz": "153ee89da71f73c9",
    "baseline.map-which-negatives.csv.gz": "148acea5adfdf6ce",
    "baseline.mutual-information-figure-1.csv.gz": "4d9c1ff2e939891e",
    "baseline.mutual-information-figure-1.history.csv.gz": "15c549d76800b7eb",
    "baseline.mutual-information-figure-10.csv.gz": "3f12e4e4e489e7d0",
    "baseline.mutual-information-figure-10.history.csv.gz": "acd110d8bee14338",
    "baseline.mutual-information-figure-2.csv.gz": "a180a2ef8263fc1f",
    "baseline.mutual-information-figure-2.history.csv.gz": "6a97604d9d7b4d5d",
    "baseline.mutual-information-figure-4.csv.gz": "44c5824b599c5c81",
    "baseline.mutual-information-figure-4.history.csv.gz": "d28498fa1bc21089",
    "baseline.mutual-information-figure-5.csv.gz": "8ce50a22eb6ecdb4",
    "baseline.mutual-information-figure-5.history.csv.gz": "c43d2da8dc55a81c",
    "baseline.mutual-information-figure-7.csv.gz": "a180a2ef8263fc1f",
    "baseline.mutual-information-figure-7.history.csv.gz": "6a97604d9d7b4d5d",
    "baseline.mutual-information-figure-8.csv.gz": "a180a2ef8263fc1f",
    "baseline.mutual-information-figure-8.history.csv.gz": "6a97604d9d7b4d5d",
    "baseline.mutual-information-figure-9.csv.gz": "a180a2ef8263fc1f",
    "baseline.mutual-information-figure-9.history.csv.gz": "6a97604d9d7b4d5d",
    "baseline.mutual-information-table-1.csv.gz": "787c845089854e80",
    "baseline.mutual-information-table-1.history.csv.gz": "f2bcda99ccf83661",
    "baseline.mutual-information-theorem-2-1.csv.gz": "135e253333ccfdba",
    "baseline.recipe-bank.csv.gz": "ff9a6b203eed19ab",
    "baseline.recipe-bank.history.csv.gz": "8903e19f0cdc8626",
    "baseline.recipe-batch.csv.gz": "4fa074686a22b8c5",
    "baseline.recipe-batch.history.csv.gz": "f98d9d4c76ae5076",
    "baseline.search-bank-constant.csv.gz": "de7de3590fe5560d",
    "baseline.search-bank-constant.history.csv.gz": "e21f709f5c234f33",
    "baseline.search-bank.csv.gz": "828487565ca765c7",
    "baseline.search-bank.history.csv.gz": "e21f709f5c234f33",
    "baseline.search-batch.csv.gz": "dc508e3f1820fad4",
    "baseline.search-dclw.csv.gz": "dc508e3f1820fad4",
    "baseline.search-hypersphere.csv.gz": "dc508e3f1820fad4",
    "baseline.search-queue.csv.gz": "549d797ea11c9474",
    "baseline.search-queue.history.csv.gz": "50cb7ea440d7433b",
    "baseline.search-siamese.csv.gz": "441e766c2ae4b43f",
    "baseline.search-simo.csv.gz": "dc508e3f1820fad4",
    "baseline.since-2022.csv.gz": "9bbe15f6b45f75cd",
    "baseline.unigrad-eigenspaces.csv.gz": "2a4f73c1c6d8bcb4",
    "baseline.unigrad-eigenspaces.history.csv.gz": "8fd6cffa5b870b41",
    "baseline.unigrad-figure-2.csv.gz": "077e6691c19f7171",
    "baseline.unigrad-figure-2.history.csv.gz": "29126a5259bce614",
    "baseline.unigrad-table-2.csv.gz": "8aba914542950144",
    "baseline.unigrad-table-2.history.csv.gz": "057820aa130f80a1",
    "baseline.unigrad-table-3.csv.gz": "c44dc48e5a2ba83d",
    "baseline.unigrad-table-3.history.csv.gz": "9edea8145c7b570b",
    "baseline.unigrad-table-6.csv.gz": "8b530de604bf7de4",
    "baseline.unigrad-table-6.history.csv.gz": "356c4828406b36e9",
    "baseline.unigrad-table-7.csv.gz": "c44dc48e5a2ba83d",
    "baseline.unigrad-table-7.history.csv.gz": "9edea8145c7b570b",
    "baseline.unigrad-table-8.csv.gz": "c44dc48e5a2ba83d",
    "baseline.unigrad-table-8.history.csv.gz": "9edea8145c7b570b",
    "detection.eqco-table-8.csv.gz": "ea48df12b4b68fdd",
    "detection.mutual-information-table-2b.csv.gz": "b3a0d04f45796745",
    "detection.mutual-information-table-2b.history.csv.gz": "b2e553545bae72f5",
    "detection.mutual-information-table-2d.csv.gz": "05fe3dedfd0d836b",
    "detection.mutual-information-table-2d.history.csv.gz": "ef79b53f99a3bce9",
    "detection.mutual-information-table-4.csv.gz": "6f23af167f81c8e1",
    "detection.mutual-information-table-4.history.csv.gz": "31a7fff115820557",
    "detection.unigrad-table-10.csv.gz": "3b34b6156feb9421",
    "digests.json": "a2aa2012756d3137",
    "finetune.unigrad-table-9.csv.gz": "5bf8458303e79567",
    "gaussian-mi.csv": "490373fe6872e71a",
    "gaussian-mi.history.csv": "85533756ac500fd5",
    "gradient-norm.csv": "5d38b11c318a0c84",
    "identity.csv": "9e59857cfb6a4130",
    "identity.dual-temperature-consistency.csv.gz": "df8407a045a14d9e",
    "image-text.dcl-clip.csv.gz": "16e16dae6113579b",
    "image-text.dcl-clip.history.csv.gz": "26ba52414a3099b4",
    "optimal-bound.csv": "4c5960314400a3d9",
    "pretrain.collapse.csv.gz": "117bc54478669316",
    "pretrain.collapse.history.csv.gz": "e1e1e7d0c35b86bf",
    "pretrain.dcl-figure-1.arrays.npz": "9b11741fa75826dd",
    "pretrain.dcl-figure-1.csv.gz": "1d82f42343915797",
    "pretrain.dcl-figure-1.history.csv.gz": "478917b82191bb5d",
    "pretrain.dcl-figure-3b.csv.gz": "0dd899c3ce1dfff2",
    "pretrain.dcl-figure-4.csv.gz": "d7b4ab80d21145ed",
    "pretrain.dcl-figure-4.history.csv.gz": "a09ec118993ad08b",
    "pretrain.dcl-remarks.csv.gz": "f5f26723bdd5711a",
    "pretrain.dcl-remarks.history.csv.gz": "13bd3ccd339757c8",
    "pretrain.dcl-table-1.csv.gz": "c69c570cb4038a8b",
    "pretrain.dcl-table-11.csv.gz": "aa170122ec3b23bb",
    "pretrain.dcl-table-15.csv.gz": "6729226ececa02b4",
    "pretrain.dcl-table-15.history.csv.gz": "08aebd67e6fd5c33",
    "pretrain.dcl-table-18.csv.gz": "023810fb10c33604",
    "pretrain.dcl-table-2.csv.gz": "550db2dd495b2b73",
    "pretrain.dcl-table-3.csv.gz": "fcd3ba8b3c789ea0",
    "pretrain.dcl-table-3.history.csv.gz": "189f147defe0b905",
    "pretrain.dcl-table-4.csv.gz": "d4dac843dbd8cdea",
    "pretrain.dcl-table-4.history.csv.gz": "c108687dd87c8f67",
    "pretrain.dcl-table-5.csv.gz": "7389be68733b25c9",
    "pretrain.dcl-table-5.history.csv.gz": "575edd7d9c61dc82",
    "pretrain.dcl-table-6.csv.gz": "2952b3e866347c13",
    "pretrain.dcl-table-6.history.csv.gz": "7d66440d83b42825",
    "pretrain.dcl-table-7.csv.gz": "786b4d919bd558e8",
    "pretrain.dcl-table-7.history.csv.gz": "12b9158d9db04316",
    "pretrain.dcl-table-8.csv.gz": "28ff9cdc9c73b12a",
    "pretrain.dcl-table-8.history.csv.gz": "c088b4101cfea900",
    "pretrain.dual-temperature-figure-2.csv.gz": "169ed4b7662760ef",
    "pretrain.dual-temperature-main-figure-2.csv.gz": "41e5c41c7d4d0bd9",
    "pretrain.dual-temperature-remarks.csv.gz": "85b4453b093eeab8",
    "pretrain.dual-temperature-remarks.history.csv.gz": "587b6ac19dfbd674",
    "pretrain.dual-temperature-table-1.csv.gz": "ae87c3ef01237339",
    "pretrain.dual-temperature-table-1.history.csv.gz": "e54e5dbddbd873a5",
    "pretrain.eqco-figure-2.csv.gz": "75067b0bb77ca8d7",
    "pretrain.eqco-figure-3.csv.gz": "32205233687e2e9f",
    "pretrain.eqco-learning-rate.csv.gz": "5d1490885b2f29a9",
    "pretrain.eqco-learning-rate.history.csv.gz": "f7500ff359f21f49",
    "pretrain.eqco-simo-and-moco.csv.gz": "899de20b60421a43",
    "pretrain.eqco-simo-and-moco.history.csv.gz": "c79008cc4da18864",
    "pretrain.eqco-table-1.csv.gz": "7daac5d9edac57c1",
    "pretrain.eqco-table-2.csv.gz": "fbb4d65163468bdf",
    "pretrain.eqco-table-2.history.csv.gz": "790da5a5b4edc24a",
    "pretrain.eqco-table-3.csv.gz": "21a88239ed1d1fc3",
    "pretrain.eqco-table-3.history.csv.gz": "c7e6cfeaff046778",
    "pretrain.eqco-table-4.csv.gz": "10e2f749f056678f",
    "pretrain.eqco-table-4.history.csv.gz": "515923c11f9f7bb4",
    "pretrain.eqco-table-5.csv.gz": "f211e83d923bc8aa",
    "pretrain.eqco-table-5.history.csv.gz": "2ee84fadd26b863e",
    "pretrain.eqco-table-6.csv.gz": "ff06b870ed0b27f4",
    "pretrain.eqco-table-6.history.csv.gz": "989ba6a7c05b1099",
    "pretrain.eqco-table-7.csv.gz": "69bd1971538cbad7",
    "pretrain.eqco-table-7.history.csv.gz": "0b10f91c7b697d02",
    "pretrain.map-dcl-q-b.csv.gz": "7d78f92a2542d131",
    "pretrain.map-dcl-q-b.history.csv.gz": "70246b9d766cbb6e",
    "pretrain.map-dcl-rates.csv.gz": "df66e7d183e9e3b1",
    "pretrain.map-dcl-rates.history.csv.gz": "e991254380825fcd",
    "pretrain.map-dcl.csv.gz": "4e4c3d6eb20f8a49",
    "pretrain.map-dcl.history.csv.gz": "37c426a316d1bb2e",
    "pretrain.map-dual-temperature.csv.gz": "b7070bc33de482f7",
    "pretrain.map-dual-temperature.history.csv.gz": "a78ad55dfef1ebf2",
    "pretrain.map-families.csv.gz": "b6d32654a6853e23",
    "pretrain.map-families.history.csv.gz": "032a0c791d7b88fc",
    "pretrain.map-negatives.csv.gz": "08732ab8a248af22",
    "pretrain.map-negatives.history.csv.gz": "8fab05b85ee8a73e",
    "pretrain.map-temperature.csv.gz": "166b24046c36cff0",
    "pretrain.map-temperature.history.csv.gz": "30e44be8eb1076d1",
    "pretrain.map-which-negatives.csv.gz": "ce19f9fa4b87aa82",
    "pretrain.map-which-negatives.history.csv.gz": "5f1b314566182665",
    "pretrain.mutual-information-figure-1.csv.gz": "beebc414047ecec7",
    "pretrain.mutual-information-figure-1.history.csv.gz": "31528b06788a4029",
    "pretrain.mutual-information-figure-10.csv.gz": "60ba8aea8a88f1c4",
    "pretrain.mutual-information-figure-10.history.csv.gz": "cd2a7bb83ac7109b",
    "pretrain.mutual-information-figure-2.csv.gz": "699b91490ae91916",
    "pretrain.mutual-information-figure-2.history.csv.gz": "ae5ad1e310e9e3b4",
    "pretrain.mutual-information-figure-4.csv.gz": "3cac53c5eb5506a1",
    "pretrain.mutual-information-figure-4.history.csv.gz": "ac997a9b4ff5e0f4",
    "pretrain.mutual-information-figure-5.csv.gz": "9b30d623b50526fa",
    "pretrain.mutual-information-figure-5.history.csv.gz": "a69cd3f453ad262e",
    "pretrain.mutual-information-figure-7.csv.gz": "1a1a3055c8ddbb38",
    "pretrain.mutual-information-figure-7.history.csv.gz": "6a126ed549817a46",
    "pretrain.mutual-information-figure-8.csv.gz": "03ce0f43c32ad675",
    "pretrain.mutual-information-figure-8.history.csv.gz": "67fa197e320ea6fa",
    "pretrain.mutual-information-figure-9.csv.gz": "7108fe8c38c090fb",
    "pretrain.mutual-information-figure-9.history.csv.gz": "67a40fd0159e9843",
    "pretrain.mutual-information-table-1.csv.gz": "bf4c1edae3cd50a7",
    "pretrain.mutual-information-table-1.history.csv.gz": "7b91a22b07862b3c",
    "pretrain.mutual-information-theorem-2-1.csv.gz": "4f8b79fdffdaa251",
    "pretrain.recipe-bank.csv.gz": "cddf0df34c98b729",
    "pretrain.recipe-bank.history.csv.gz": "0a36a0c55535bca3",
    "pretrain.recipe-batch.csv.gz": "34b1a3fee420c00d",
    "pretrain.recipe-batch.history.csv.gz": "302a962612adb435",
    "pretrain.recipe-predictor.csv.gz": "9590a7139c6ff714",
    "pretrain.recipe-predictor.history.csv.gz": "d6713a3ee4bbb38b",
    "pretrain.recipe-queue.csv.gz": "a1da6cf11f229a59",
    "pretrain.recipe-queue.history.csv.gz": "e58d1cb3d391ce1a",
    "pretrain.search-bank-constant.csv.gz": "2c09187dffb342c1",
    "pretrain.search-bank-constant.history.csv.gz": "d5b996c71b1a86bd",
    "pretrain.search-bank.csv.gz": "281fffecc822bc28",
    "pretrain.search-bank.history.csv.gz": "00eb61ca6e25bcf3",
    "pretrain.search-batch.csv.gz": "ad49ba13944557dd",
    "pretrain.search-dclw.csv.gz": "4ee4ca102d45cb52",
    "pretrain.search-hypersphere.csv.gz": "baee1148a9a95820",
    "pretrain.search-map-dcl.csv.gz": "98e79f70a0152db4",
    "pretrain.search-map-dcl.history.csv.gz": "aa8614aeb4a0dc4e",
    "pretrain.search-map-dual-temperature.csv.gz": "f996a93de581ecbd",
    "pretrain.search-map-dual-temperature.history.csv.gz": "17459514cd812cbd",
    "pretrain.search-map-families.csv.gz": "4a885b1e9396d808",
    "pretrain.search-map-families.diverged.csv.gz": "0285b7f87636f57b",
    "pretrain.search-map-families.history.csv.gz": "92584fa2ae1c82bc",
    "pretrain.search-map-negatives.csv.gz": "0e38cece891b56d8",
    "pretrain.search-map-negatives.history.csv.gz": "c17482e84b7e4edb",
    "pretrain.search-map-temperature.csv.gz": "77ec220e77ddf873",
    "pretrain.search-map-temperature.history.csv.gz": "8d12f4446480ea3d",
    "pretrain.search-map-which-negatives.csv.gz": "6d70a19a4c313012",
    "pretrain.search-map-which-negatives.history.csv.gz": "020fc7876f169c2e",
    "pretrain.search-queue.csv.gz": "8511bea3781e9cdf",
    "pretrain.search-queue.history.csv.gz": "380525878e47505c",
    "pretrain.search-siamese.csv.gz": "6c58414a829e932c",
    "pretrain.search-siamese.diverged.csv.gz": "3bf37930313c405a",
    "pretrain.search-siamese.history.csv.gz": "cfaad131bb18453e",
    "pretrain.search-simo.csv.gz": "3d0e7a51f9902df5",
    "pretrain.search-since-2022.csv.gz": "89c28a3121308ff3",
    "pretrain.since-2022.csv.gz": "b7c8d0e001e9b053",
    "pretrain.unigrad-eigenspaces.csv.gz": "d9be3773d251ec9f",
    "pretrain.unigrad-eigenspaces.history.csv.gz": "81a9af066e086dc7",
    "pretrain.unigrad-figure-2.csv.gz": "7751abf932595a21",
    "pretrain.unigrad-figure-2.history.csv.gz": "485a730b7187b3c7",
    "pretrain.unigrad-table-2.csv.gz": "482f31f89cb7417a",
    "pretrain.unigrad-table-2.diverged.csv.gz": "3efd7fcc939051d9",
    "pretrain.unigrad-table-2.history.csv.gz": "b6f1b8c240f856e2",
    "pretrain.unigrad-table-3.csv.gz": "e8ee67d96e37ab2a",
    "pretrain.unigrad-table-3.history.csv.gz": "1753d566040f8ef9",
    "pretrain.unigrad-table-4.csv.gz": "2b55e7c762e8caed",
    "pretrain.unigrad-table-4.history.csv.gz": "c553fa538eb34f5d",
    "pretrain.unigrad-table-6.csv.gz": "caaaf63ee853945c",
    "pretrain.unigrad-table-6.history.csv.gz": "2e45a922a1f81e5f",
    "pretrain.unigrad-table-7.csv.gz": "6ad237f86b922e3a",
    "pretrain.unigrad-table-7.history.csv.gz": "84b39118f107740b",
    "pretrain.unigrad-table-8.csv.gz": "90ccb1849e0f0138",
    "pretrain.unigrad-table-8.history.csv.gz": "81ea7b81a0e62c51",
    "speech-baseline.dcl-table-16.csv.gz": "f5b24975a3f32bb5",
    "speech-baseline.dcl-table-16.history.csv.gz": "a40ed16880ce49ca",
    "speech.dcl-table-16.csv.gz": "304f8838dac7a5ce",
    "speech.dcl-table-16.history.csv.gz": "06ed8102ff19cbea",
    "spirals.arrays.npz": "6e24bb53d87be600",
    "spirals.csv": "25dc3d77d2430790",
    "spirals.history.csv": "7ce04485e7060304",
    "supervised.dcl-table-17.csv.gz": "e23473c77dd8416b",
    "supervised.dcl-table-17.history.csv.gz": "0cd9b65779abd8c6",
    "supervised.dual-temperature-table-2.csv.gz": "2cef78c0111c0b62",
    "supervised.dual-temperature-table-2.history.csv.gz": "2ea0ad56b7dad69a",
    "supervised.recipe-supervised.csv.gz": "b34f46b973118cac",
    "supervised.recipe-supervised.history.csv.gz": "6b8a16fd2681576c",
    "supervised.search-classifier.csv.gz": "cb2ded0c9788dcfa",
    "supervised.search-classifier.history.csv.gz": "8a07d64d7789695c",
    "tsne.dcl-figure-4c.arrays.npz": "1375c5f31655a029",
    "tsne.dcl-figure-4c.csv.gz": "25cfe09e8bdca08a",
    "vince-gaussian.csv": "6fefebdf110828f5",
    "vince-gaussian.history.csv": "b034188bdea0daa7",
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
