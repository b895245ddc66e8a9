// Parts of a forward pass that graphs of one batch and of several micro-batches share.
#pragma once

#include <swapadvisor/train/training_graph.h>

#include <string>
#include <vector>

namespace swapadvisor {

/// Inputs of the graph, "PREFIXname" for each, ready for the model: images in the layout of `options`.
ModelTensors add_inputs(Graph& graph, const std::vector<ModelInput>& inputs, const StepOptions& options,
                        const std::string& prefix = {});

/// The logits of a prediction as the loss and metrics read them: f32 where the model computes in bf16.
Tensor logits_of(const ModelPrediction& prediction, const std::string& name);

/// The labels of a prediction's rows, as a vector. `tensors`: the model's inputs and targets.
Tensor labels_of(const ModelPrediction& prediction, const ModelTensors& tensors, const std::string& model);

/// Whether the rows that count are the samples that there are.
bool row_per_sample(const ModelPrediction& prediction, const Model& model);

}  // namespace swapadvisor
