"""How long will an epoch of a network nobody has run take? From measurements to an answer, step by step."""

# %% [markdown]
# # An epoch of a network nobody has run
#
# A campaign holds the measured kernel times, step times and memory operations of some networks on one machine. We train a model on
# part of them, check it on networks it has never seen, then ask for epoch time and mean mini-batch size of asynchronous SGD.

# %%
import mlperf

campaign = mlperf.read_campaign("cpu-epyc")
sorted(campaign.cnns)

# %% [markdown]
# ## Train
#
# `leave_out` names networks that nothing may be fitted on: every network of the zoo, and every fifth of the others.

# %%
from mlperf.studies.demo import held_out_cnns

held_out = held_out_cnns(sorted(campaign.steps["cnn"].unique()))
model = mlperf.train(campaign, leave_out=held_out, n_folds=8, seed=0)
model.score.accuracy

# %% [markdown]
# Each row is a way to model a kernel's time, judged on networks left out of the fit. `noise_floor` is how far two halves of the
# measured rounds differ; a perfect model would err by about half of that.
#
# ## Judge
#
# Now the networks of `leave_out`: predicted beside measured.

# %%
comparison = mlperf.compare_runs(model, campaign, cnns=held_out)
comparison.summary()

# %%
from mlperf.report.text.views import result_figure

result_figure(comparison)

# %% [markdown]
# ## Predict
#
# A machine and a job are specifications, from a TOML file or written down here; `cpu-cluster` is an example. The prediction couples
# the GPU threads with the update thread; each number has an interval, of the mean over runs and of one run, and a flag that says
# whether it extrapolates.

# %%
from mlperf.specs import load_machine

machine = load_machine("cpu-cluster")
job = mlperf.JobSpec(dataset_size=60_000, subbatch_size=4, n_nodes=8)
prediction = mlperf.predict_epoch(model, campaign.cnns[held_out[0]], machine, job)
prediction

# %%
prediction.breakdown()

# %%
result_figure(prediction)

# %% [markdown]
# ## Improve
#
# The fastest number of nodes and sub-batch size whose mean mini-batch stays in a window.

# %%
found = mlperf.search_runs(model, campaign.cnns[held_out[0]], machine, job, minibatch=(16.0, 64.0))
found

# %% [markdown]
# ## Keep
#
# A model is one JSON file: no pickle, the same bytes for the same data and seed.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

with TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    mlperf.save_model(model, path)
    again = mlperf.load_model(path)
again.score.accuracy.equals(model.score.accuracy)
