"""Jobs of PyTorch: training of a network with three layers, inference of models of random weights.

JOBS: name to the modules that the job imports, and the job, which gives a few numbers of its
result.
"""
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


BERT = "transformers.models.bert.modeling_bert"
GPT = "transformers.models.gpt2.modeling_gpt2"
JOBS = {
    "train 205": (["torch"], lambda device: train(205, device)),
    "train 1024": (["torch"], lambda device: train(1024, device)),
    "train 2048": (["torch"], lambda device: train(2048, device)),
    "train 4096": (["torch"], lambda device: train(4096, device)),
    "MLP": (["torch"], mlp),
    "BERT": (["torch", BERT], bert),
    "GPT-2": (["torch", GPT], gpt),
    "convolution": (["torch"], convolution),
    "LSTM": (["torch"], lstm),
}
