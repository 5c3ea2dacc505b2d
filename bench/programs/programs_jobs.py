"""Whole jobs of PyTorch and NumPy, unmodified, from the start of the process to its end.

Training of a network with three layers and several hidden widths, inference of five models with
random weights, and a block power iteration of NumPy. Each job is a process of its own. Columns:
without DuoBLAS; with the drop-in, free to choose (`auto`: factors that come again are remembered by
their bytes), watching pages (`pages`), sending factors each time (`sent`), on the GPU alone
(`gpu`); and PyTorch's own GPU device (`cuda`), as the limit. A cell has the least wall time of all
rounds.
"""
import os
import statistics
import time

from programs_child import difference, run_child

BATCH = 1024


# ---- In a separate process: a job, and a few numbers of its result ----

def train(width, device):
    import torch
    torch.manual_seed(1)
    layers = torch.nn.Sequential(
        torch.nn.Linear(784, width), torch.nn.ReLU(),
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)).to(device)
    descent = torch.optim.SGD(layers.parameters(), lr=0.01)
    images = torch.rand(BATCH, 784).to(device)
    labels = torch.randint(10, (BATCH,)).to(device)
    for _ in range(100 if width < 4096 else 40):
        descent.zero_grad()
        loss = torch.nn.functional.cross_entropy(layers(images), labels)
        loss.backward()
        descent.step()
    return [loss.item()]


def infer(model, inputs, passes, device):
    import torch
    model = model.to(device).eval()
    inputs = inputs.to(device)
    with torch.no_grad():
        for _ in range(passes):
            result = model(inputs)
    if not torch.is_tensor(result):
        result = result[0]
    return result.flatten()[:: max(1, result.numel() // 64)].tolist()


def mlp(device):
    import torch
    torch.manual_seed(1)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(4096, 4096), torch.nn.ReLU())]
    return infer(torch.nn.Sequential(*layers), torch.randn(64, 4096), 200, device)


def bert(device):
    import torch
    from transformers import BertConfig, BertModel
    torch.manual_seed(1)
    return infer(BertModel(BertConfig()), torch.randint(30000, (8, 128)), 12, device)


def gpt(device):
    import torch
    from transformers import GPT2Config, GPT2Model
    torch.manual_seed(1)
    return infer(GPT2Model(GPT2Config(use_cache=False)), torch.randint(50000, (4, 256)), 12, device)


def convolution(device):
    import torch
    torch.manual_seed(1)
    layers = []
    for before, after in ((3, 64), (64, 128), (128, 256), (256, 512)):
        layers += [torch.nn.Conv2d(before, after, 3, padding=1), torch.nn.ReLU(),
                   torch.nn.MaxPool2d(2)]
    layers += [torch.nn.Flatten(), torch.nn.Linear(512 * 14 * 14, 1000)]
    return infer(torch.nn.Sequential(*layers), torch.randn(16, 3, 224, 224), 20, device)


def lstm(device):
    import torch
    torch.manual_seed(1)
    return infer(torch.nn.LSTM(1024, 1024, 2), torch.randn(64, 64, 1024), 10, device)


def power_iteration(_):
    """The largest eigenvalues of a symmetric matrix, by blocks of 64 vectors."""
    import numpy as np
    random = np.random.default_rng(1)
    a = random.standard_normal((6144, 6144), dtype=np.float32)
    a = a @ a.T
    x = random.standard_normal((6144, 64), dtype=np.float32)
    for _ in range(60):
        x = a @ x
        x /= np.linalg.norm(x, axis=0)
    return [float(np.linalg.norm(a @ x[:, 0]))]


JOBS = {
    "train 205": lambda device: train(205, device),
    "train 1024": lambda device: train(1024, device),
    "train 2048": lambda device: train(2048, device),
    "train 4096": lambda device: train(4096, device),
    "MLP": mlp, "BERT": bert, "GPT-2": gpt, "convolution": convolution, "LSTM": lstm,
    "power": power_iteration,
}


def measure(name, device):
    return {"result": JOBS[name](device)}


# ---- The table ----

def columns(options):
    """Name to environment and device; without DuoBLAS first."""
    plain = {name: value for name, value in os.environ.items()
             if name != "LD_PRELOAD" and not name.startswith("DUOBLAS_")}
    ours = dict(plain, LD_PRELOAD=os.path.join(options.folder, "libduoblas-blas.so"))
    found = {"without": (plain, "cpu"), "auto": (ours, "cpu")}
    if options.gpu:
        found.update(pages=(dict(ours, DUOBLAS_REMEMBER="pages"), "cpu"),
                     sent=(dict(ours, DUOBLAS_REMEMBER="0"), "cpu"),
                     gpu=(dict(ours, DUOBLAS_PATH="gpu"), "cpu"),
                     cuda=(plain, "cuda"))
    return found


def report(options, folder):
    del folder
    libraries = columns(options)
    print("whole jobs, s of wall time, start included; without / auto; largest difference")
    print(f"{'':12}" + "".join(f" {name:>8}" for name in libraries) + "    ratio", flush=True)
    ratios = []
    for name in JOBS:
        walls, results = {}, {}
        for column, (environment, device) in libraries.items():
            for _ in range(1 if column == "cuda" else options.rounds):
                begin = time.perf_counter()
                run = run_child("jobs", environment, name, device)
                wall = time.perf_counter() - begin
                if run is None:
                    break
                results.setdefault(column, run["result"])
                walls[column] = min(wall, walls.get(column, wall))
        if "without" not in walls or "auto" not in walls:
            print(f"{name:12} could not run", flush=True)
            continue
        ratios.append(walls["without"] / walls["auto"])
        worst = max(difference(result, results["without"]) for result in results.values())
        print(f"{name:12}" + "".join(f" {walls[column]:8.2f}" if column in walls else f" {'-':>8}"
                                     for column in libraries) +
              f" {ratios[-1]:8.2f}  {worst:.1e}", flush=True)
    if ratios:
        print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}")
