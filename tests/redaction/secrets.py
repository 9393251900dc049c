# ruff: noqa: E501 - a table is easier read unbroken
"""Secrets of every family that we know, none of them real. Put together when loaded, so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
from typing import NamedTuple

_CHANCE = random.Random(35)
HEX, ALNUM, UPPER, B64 = "0123456789abcdef", string.ascii_letters + string.digits, string.ascii_uppercase + string.digits, string.ascii_letters + string.digits + "+/"


class Secret(NamedTuple):
    """`text` is how it is met; `value` what must not be seen again."""

    family: str
    text: str
    value: str


def some(length: int, of: str = ALNUM) -> str:
    return "".join(_CHANCE.choices(of, k=length - 2)) + "a7" if of != UPPER else "".join(_CHANCE.choices(of, k=length))


def _bare(family: str, *parts: str) -> Secret:
    value = "".join(parts)
    return Secret(family, value, value)


def _in(family: str, before: str, value: str, after: str = "") -> Secret:
    return Secret(family, before + value + after, value)


def _jwt() -> str:
    parts = (json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "iat": 1516239022}))
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), some(43)])


def _pem(kind: str) -> str:
    body = "\n".join(some(64, B64) for _ in range(6))
    return f"-----BEGIN {kind}PRIVATE " + f"KEY-----\n{body}\n-----END {kind}PRIVATE " + "KEY-----"


def _service_account() -> list[Secret]:
    key = _pem("")
    text = json.dumps({"type": "service_account", "project_id": "p", "private_key_id": some(40, HEX), "private_key": key})
    return [Secret("gcp-service-account", text, part) for part in key.split("\n")[1:-1]]


def _basic(user: str) -> str:
    return base64.b64encode(f"{user}:{some(14)}".encode()).decode()


SECRETS = [
    _bare("hugging-face", "hf" + "_", some(34)), _bare("hugging-face", "api_org" + "_", some(34)),
    _in("hugging-face", "HUGGING_FACE_HUB_TOKEN=", some(20)), _in("hugging-face", "--hf-token ", some(12)),
    _in("wandb", "WANDB_API_KEY=", some(40, HEX)), _in("wandb", "wandb login --relogin ", some(40, HEX)), _in("wandb", 'wandb.login(key="', some(40, HEX), '")'),
    _in("wandb", "wandb: Appending key for api.wandb.ai to your netrc file: ", some(40, HEX)), _bare("wandb", "wandb" + "_v1_", some(60)),
    _bare("openai", "sk" + "-", some(48)), _bare("openai", "sk" + "-proj-", some(60, ALNUM + "-_")), _bare("openai", "sk" + "-svcacct-", some(60, ALNUM + "-_")),
    _bare("anthropic", "sk" + "-ant-api03-", some(90, ALNUM + "-_")), _in("anthropic", "x-api-key: ", some(40)),
    _bare("google", "AI" + "za", some(35, ALNUM + "-_")), _bare("google", "ya29" + ".", some(60, ALNUM + "-_")), _bare("google", "GOCSPX" + "-", some(28)),
    *_service_account(),
    _in("azure", "AccountName=store;AccountKey=", some(86, B64) + "==", ";EndpointSuffix=core.windows.net"), _in("azure", "Endpoint=sb://bus/;SharedAccessKeyName=Root;SharedAccessKey=", some(43, B64) + "="),
    _in("azure", "AZURE_OPENAI_API_KEY: ", some(32, HEX)), _in("azure", "https://store.blob.core.windows.net/c/f?sv=2022-11-02&se=2030&sr=b&sig=", some(43), "%3D"),
    _in("azure", "AZURE_CLIENT_SECRET='", some(3) + "8Q~" + some(34), "'"),
    _bare("aws", "AK" + "IA", some(16, UPPER)), _bare("aws", "AS" + "IA", some(16, UPPER)), _in("aws", "aws_secret_access_key = ", some(40, B64)),
    _in("aws", '"SecretAccessKey": "', some(40, B64), '"'), _in("aws", "aws_session_token=", some(200, B64)), _in("aws", "https://b.s3.amazonaws.com/k?X-Amz-Credential=c&X-Amz-Signature=", some(64, HEX)),
    *(_bare("github", f"gh{kind}" + "_", some(36)) for kind in "pousr"), _bare("github", "github" + "_pat_", some(22), "_", some(59)),
    _bare("gitlab", "gl" + "pat-", some(20)), _bare("gitlab", "gl" + "rt-", some(20)),
    _bare("npm", "npm" + "_", some(36)), _in("npm", "//registry.npmjs.org/:_authToken=", some(36)), _bare("pypi", "pypi" + "-AgEIcHlwaS5vcmc", some(80, ALNUM + "-_")),
    _bare("slack", "xox" + "b-", "123456789012-", some(24)), _bare("slack", "xox" + "p-", "123456789012-", some(24)), _bare("slack", "xapp" + "-1-", some(40)),
    _in("slack", "https://hooks.slack" + ".com/services/", f"T{some(8, UPPER)}/B{some(8, UPPER)}/{some(24)}"),
    _in("discord", "https://discord.com/api" + "/webhooks/", f"123456789012345678/{some(68)}"), _in("discord", "DISCORD_BOT_TOKEN=", f"M{some(23)}.{some(6)}.{some(27)}"),
    _in("telegram", "https://api.telegram.org" + "/bot", f"123456789:{some(35)}", "/sendMessage"), _in("teams", "https://x.webhook.office.com" + "/webhookb2/", some(40)),
    _bare("stripe", "sk" + "_live_", some(24)), _bare("stripe", "sk" + "_test_", some(24)), _bare("stripe", "whsec" + "_", some(32)),
    _bare("twilio", "S" + "K", some(32, HEX)), _in("twilio", "TWILIO_AUTH_TOKEN=", some(32, HEX)), _bare("sendgrid", "S" + "G.", some(22), ".", some(43)),
    _bare("databricks", "da" + "pi", some(32, HEX)), _bare("databricks", "da" + "pi", some(32, HEX), "-2"),
    _in("comet", "COMET_API_KEY=", some(25)), _in("comet", "Experiment(api_key='", some(25), "')"),
    _bare("neptune", base64.b64encode(b'{"api_address":"https://app.neptune.ai","api_key":"' + some(36).encode() + b'"}').decode()), _in("neptune", "NEPTUNE_API_TOKEN: ", some(60)),
    _in("mlflow", "https://ana:", some(12), "@mlflow.example.org/"), _in("mlflow", "MLFLOW_TRACKING_PASSWORD=", some(12)), _in("mlflow", "MLFLOW_TRACKING_TOKEN=", some(32)),
    _bare("jwt", _jwt()), *(Secret("pem", pem, pem.split("\n")[2]) for pem in map(_pem, ("", "RSA ", "EC ", "ENCRYPTED "))),
    *(Secret("ssh", pem, pem.split("\n")[3]) for pem in [_pem("OPENSSH ")]),
    _in("basic-auth-url", "postgresql://ana:", some(16), "@db.example.org:5432/runs"), _in("basic-auth-url", "redis://:", some(16), "@cache:6379/0"), _in("basic-auth-url", "git clone https://", some(40), "@example.org/x.git"),
    _in("basic-auth-url", "mongodb+srv://ana:", "p@ss" + some(8), "@cluster0.mongodb.net"),
    _in("authorization", "Authorization: Bearer ", some(24)), _in("authorization", "'Authorization': 'Basic ", _basic("ana"), "'"), _in("authorization", "authorization: token ", some(24)), _in("authorization", '{"Authorization": "Bearer ', some(60), '"}'),
    _in("cookie", "Cookie: ", f"session={some(32)}"), _in("cookie", "Set-Cookie: ", f"sid={some(24)}; Path=/; HttpOnly"),
    _in("netrc", "machine api.wandb.ai login user password ", some(40, HEX)), _in("netrc", "machine example.org\n  login ana\n  password ", some(12)),
    _in("connection-string", "Server=tcp:db,1433;User ID=ana;Password=", some(12), ";Encrypt=True"), _in("connection-string", "host=db user=ana password=", some(12), " dbname=runs"), _in("connection-string", "Driver={ODBC};Uid=ana;Pwd=", some(12), ";"),
    _in("password", "password: ", some(9)), _in("password", 'DB_PASSWORD="', "correct horse battery staple", '"'), _in("password", "{'password': '", some(9), "'}"), _in("password", "--password ", some(9)),
    _in("password", "['--db-password', '", some(9), "']"), _in("password", '{\\"passwd\\": \\"', some(12), '\\"}'), _in("password", "passphrase=", some(12)),
    _in("client-secret", "client_secret=", some(32)), _in("client-secret", "clientSecret: '", some(32), "'"), _in("api-key", "api_key=", some(16)), _in("api-key", "apiKey: ", some(16)), _in("api-key", "curl -u ana:", some(16), " https://example.org"),
    _in("kaggle", '{"username":"ana","key":"', some(32, HEX), '"}'), _in("kaggle", "KAGGLE_KEY=", some(32, HEX)),
    _bare("groq", "gsk" + "_", some(52)), _bare("replicate", "r8" + "_", some(37)), _bare("nvidia", "nvapi" + "-", some(64)), _bare("pinecone", "pcsk" + "_", some(50)),
    _bare("langsmith", "lsv2" + "_pt_", some(32, HEX), "_", some(10, HEX)), _bare("digitalocean", "dop" + "_v1_", some(64, HEX)), _bare("docker", "dckr" + "_pat_", some(27)),
    _bare("shopify", "shpat" + "_", some(32, HEX)), _bare("vault", "hvs" + ".", some(90)), _bare("grafana", "glsa" + "_", some(32), "_", some(8, HEX)), _bare("age", "AGE-SECRET" + "-KEY-1", some(58, UPPER)),
]  # fmt: skip
FAMILIES = {secret.family for secret in SECRETS}


def lookalikes() -> list[str]:
    """Lines that machine learning prints, with digests and ids that only a computer would write, made the same each time."""
    sha = hashlib.sha256(b"weights").hexdigest()
    return [line.replace("SHA256", sha).replace("SHA1", sha[:40]).replace("MD5", sha[:32]) for line in _LINES.strip("\n").split("\n")]


_LINES = r"""
n_tokens=512 num_tokens: 1048576
n_tokens=1234567890
total_tokens=98304 tokens/s: 15234.7
tokens_per_second=123456.789
max_new_tokens: 4096
max_tokens=1048576, min_tokens=0
pad_token='<|endoftext|>' eos_token_id=50256
pad_token_id: 151643
bos_token="<s>" unk_token="<unk>" sep_token="[SEP]" cls_token="[CLS]" mask_token="[MASK]"
'eos_token': '<|im_end|>', 'additional_special_tokens': ['<|im_start|>', '<|im_end|>']
special_tokens_map.json: 100%|██████████| 441/441 [00:00<00:00, 1.21MB/s]
Setting `pad_token_id` to `eos_token_id`:128009 for open-end generation.
Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained.
Token indices sequence length is longer than the specified maximum sequence length for this model (1024 > 512).
tokenizer = AutoTokenizer.from_pretrained('gpt2')
tokenizer_class: PreTrainedTokenizerFast
tokenizer=distilbert-base-uncased-finetuned-sst-2-english
tokenizer_name_or_path: meta-llama/Llama-3.1-8B-Instruct
tokenizer.model sha256:SHA256
image_token_index=32000 image_token='<image>' num_image_tokens=576
token_type_ids: tensor([[0, 0, 0, 0, 1, 1, 1, 1]])
token_embedding.weight torch.Size([50257, 768])
key_padding_mask=torch.Size([8, 128]) attn_mask=None need_weights=False
query_key_value.weight: torch.Size([12288, 4096])
past_key_values=None use_cache=False
key_value_heads=8 num_key_value_heads=8
k_proj.weight q_proj.weight v_proj.weight o_proj.weight
KeyError: 'transformer.h.0.attn.c_attn.weight'
KeyError: "None of [Index(['label_long_name', 'target_long_name'], dtype='object')] are in the [columns]"
Missing key(s) in state_dict: "encoder.layers.0.self_attn.in_proj_weight", "encoder.layers.0.self_attn.in_proj_bias".
Unexpected key(s) in state_dict: "module.conv1.weight", "module.bn1.running_mean".
<All keys matched successfully>
sort_key=lambda item: len(item['input_ids'])
cache_key: imagenet-train-resize224-v3-2024
cache key SHA1
primary_key=sample_identifier_column
key: features.transformer.layers.0
keys=['input_ids', 'attention_mask', 'labels']
key=3f2504e0-4f89-11d3-9a0c-0305e82c3301
group_key='experiment-baseline-2024-05-04'
prng_key=Array([0, 42], dtype=uint32)
jax.random.PRNGKey(0): [0 0]
rng, init_rng = jax.random.split(key)
sha256:SHA256
SHA256  model.safetensors
SHA1  train.csv
MD5  data/train/shard-00000.tar
md5=MD5
etag: "SHA1"
ETag: W/"MD5-12"
x-linked-etag: "SHA256"
commit SHA1
HEAD is now at 2f823ce Fix the slice
wandb: git commit SHA1
revision=SHA1
_commit_hash: SHA1
model revision SHA1 was not found on the hub, using main
snapshots/SHA1/config.json
/root/.cache/huggingface/hub/models--gpt2/snapshots/SHA1/model.safetensors
/root/.cache/huggingface/hub/models--bert-base-uncased/blobs/SHA256
id=3f2504e0-4f89-11d3-9a0c-0305e82c3301
uuid: 9b2e8c1a-7f3d-4c55-8f0e-2d1b6a7c9e10
run_id=20240504_101530_abcd1234
run_id: MD5
experiment_id=473829104756382910
mlflow run MD5 in experiment 0
wandb: Syncing run wandering-sunset-42
wandb: Run data is saved locally in /scratch/wandb/run-20240504_101530-3k2j1h9g
wandb: View run at https://wandb.ai/ana/charngram/runs/3k2j1h9g
wandb: View project at https://wandb.ai/ana/charngram
wandb: Currently logged in as: ana (team). Use `wandb login --relogin` to force relogin
wandb: W&B API key is configured. Use `wandb login --relogin` to force relogin
wandb: Tracking run with wandb version 0.17.0
wandb: ERROR api_key not configured (no-tty). call wandb.login(key=[your_api_key])
task-sklearn-pipeline-with-a-long-name-123456
task-glue-sst2-distilbert-base-uncased-finetuned
disk-usage-monitor-for-training-jobs-2024-05
risk-adjusted-return-metric-for-portfolio-2024
mask-rcnn-resnet50-fpn-coco-2017-v1-0-0-final
desk-rejection-classifier-roberta-large-mnli
sk-learn version 1.4.2
sklearn.pipeline.Pipeline(steps=[('scaler', StandardScaler()), ('svc', SVC())])
--max-tokens 512 --pad-token '<|endoftext|>'
--tokenizer-name gpt2 --key-column text --token-limit 4096
--num-key-value-heads 8 --rope-scaling linear
https://huggingface.co/gpt2/resolve/main/config.json
https://download.pytorch.org/models/resnet50-11ad3fa6.pth
https://storage.googleapis.com/tensorflow/keras-applications/resnet/resnet50_weights_tf_dim_ordering_tf_kernels.h5
s3://bucket/checkpoints/epoch=3-step=12000-val_loss=0.1234.ckpt
gs://bucket/data/train-00000-of-01024.tfrecord
Downloading https://files.pythonhosted.org/packages/ab/cd/SHA256/torch-2.3.0-cp311-cp311-manylinux1_x86_64.whl
git+ssh://git@github.com/ana/project.git@main#egg=project
git@github.com:ana/project.git
origin  https://github.com/ana/project.git (fetch)
http://localhost:8080/metrics?run=3k2j1h9g&step=100
tcp://127.0.0.1:29500 rank=0 world_size=8
init_method='tcp://10.0.0.1:23456'
file:///tmp/rendezvous-3f2504e0
postgresql://localhost:5432/runs
Contact ana@example.org or https://example.org/help?topic=training
RuntimeError: stack expects each tensor to be equal size, but got [128, 768] at entry 0 and [127, 768] at entry 1
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x784 and 768x10)
RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.15 GiB total capacity)
RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
ValueError: Expected input batch_size (32) to match target batch_size (31).
IndexError: index 50257 is out of bounds for dimension 0 with size 50257
AssertionError: Torch not compiled with CUDA enabled
torch.cuda.OutOfMemoryError: CUDA error 2 at 0x7f3d4c558f0e
tensor([[ 0.1234, -1.2345e-05,  3.1415], [nan, inf, 0.0000]], device='cuda:0', grad_fn=<AddmmBackward0>)
array([1.23456789e-01, 9.87654321e+02, 0.00000000e+00], dtype=float32)
Parameter containing: tensor([0.0123, 0.0456], requires_grad=True)
<torch.utils.data.dataloader.DataLoader object at 0x7f3d4c558f0e>
DataFrame shape=(1000, 12) cols=[user_key:int64, session:object, amount:float64]
step=100 loss=1.49
step 12000 | loss 2.3456 | lr 3.0e-04 | norm 0.4321 | dt 123.45ms | tok/sec 15234.7
epoch: 3, train_loss: 0.123456, val_loss: 0.234567, val_acc: 0.987654
Epoch 3/10: 100%|██████████| 1563/1563 [01:23<00:00, 18.72it/s, loss=0.123, acc=98.7]
{"step": 100, "loss": 1.4912345, "grad_norm": 0.54321, "learning_rate": 0.0003, "epoch": 0.12}
{'loss': 2.3012, 'grad_norm': 1.2345678901234567, 'learning_rate': 4.9e-05, 'epoch': 0.01}
bleu=27.345678 rouge1=0.456789 rouge2=0.234567 meteor=0.345678
secret_loss=0.123456 secret_acc: 0.987654
password_strength_loss: 0.12345678
the secret to a good basic recipe is patience
a basic understanding of transformers is assumed
basic resnet50-imagenet-pretrained-backbone
a bearer of bad news
auth: disabled
author="Jane Doe" author_name=Jane_Doe_Smith
authors: ['Vaswani, Ashish', 'Shazeer, Noam']
cookiecutter template: https://github.com/drivendata/cookiecutter-data-science
credentials were not found, continuing without a tracker
password = getpass.getpass()
api_key=os.environ["WANDB_API_KEY"]
api_key = config.api_key
token = os.getenv("HF_TOKEN")
hf_token=args.hf_token
wandb_api_key: ${WANDB_API_KEY}
export HF_TOKEN=$HF_TOKEN
password=None api_key=null secret: ""
api_key: Optional[str] = None
def login(password: str, api_key: str) -> None:
if "hf_" in name or name.startswith("sk-") or "ghp_" in name:
hf_model_name_or_path=bert-base-uncased
hf_dataset: wikitext-103-raw-v1 hf_cache_dir=/data/hf_cache_for_everyone
npm_config_user_agent=npm/10.2.4 node/v20.11.0 linux x64
pypi-mirror is slow today
Successfully installed pypi-simple-1.5.0 huggingface-hub-0.23.0 tokenizers-0.19.1
xoxo from the cluster
docker image sha256:SHA256
image id iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
slurm job 4738291 on node-[001-016], account=ml-research partition=a100
SLURM_JOB_ID=4738291 CUDA_VISIBLE_DEVICES=0,1,2,3 OMP_NUM_THREADS=8
NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>
NCCL_SOCKET_IFNAME=eth0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE ana@example.org
SHA256:uNiVztksCsDhcc0u9e8BrhqkPcbRuvsSMfzrYAHeqKc (ED25519)
optimizer=AdamW(lr=0.0003, betas=(0.9, 0.95), eps=1e-08, weight_decay=0.1)
model.embed_tokens.weight model.norm.weight lm_head.weight
checkpoint-12000/optimizer.pt checkpoint-12000/scheduler.pt checkpoint-12000/trainer_state.json
runs/May04_10-15-30_node-001/events.out.tfevents.1714817730.node-001.4121.0
meta-llama/Llama-3.1-8B-Instruct mistralai/Mixtral-8x7B-Instruct-v0.1 Qwen/Qwen2.5-0.5B
sentence-transformers/all-MiniLM-L6-v2 google/vit-base-patch16-224-in21k
EleutherAI/pythia-160m-deduped-v0 step143000
tiktoken encoding cl100k_base n_vocab=100277
sigmoid=0.731058 sigma=0.123456 sig=0.0012345
signature: e3b0c442 (torch.Size([8, 3]))
signature=(input_ids: Tensor, attention_mask: Tensor) -> Tensor
dsn_loss=0.654321 pwd
weight_key=encoder.layers.0 highlight_token=important bottom_right_key=corner_4 length_key=seq_length
--weight-key model.encoder.layers --right-token something_else --neighbour-key by_distance
hf_pad_token=endoftext151643 wandb_cache_key=charngram-v3 hub_sort_key=downloads openai_image_token=placeholder1
key_frames=128 monkey=123456789 keyboard: qwertyuiop
keypoint_detection_keypoints: 17 turkey=1234567
TOKENIZERS_PARALLELISM=false
huggingface/tokenizers: The current process just got forked, after parallelism has already been used.
HF_HOME=/data/hf HF_HUB_OFFLINE=1 TRANSFORMERS_CACHE=/data/hf/hub
SKIPPED: no accelerator; SKlearn and ACcuracy, SG.D optimizer
seed=20240504 deterministic=True benchmark=False
machine learning login page password reset
machine: node-001 cpu: 64 memory: 512 GiB
webhook: disabled, notifications: off
"""
