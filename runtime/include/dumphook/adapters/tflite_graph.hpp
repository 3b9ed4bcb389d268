// SPDX-License-Identifier: Apache-2.0
// What the TensorFlow Lite adapter knows of a graph: its layers in execution order, also those that a delegate hides,
// and the names of its tensors. Part of tflite.hpp.
#ifndef DUMPHOOK_ADAPTERS_TFLITE_GRAPH_HPP
#define DUMPHOOK_ADAPTERS_TFLITE_GRAPH_HPP

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "dumphook/adapters/tflite_ops.hpp"
#include "dumphook/dumphook.h"
#include "tensorflow/lite/c/common.h"

namespace dumphook {
namespace tflite {

inline bool contains(const std::vector<size_t>& list, size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// A node of TFLite's execution plan. Valid during a delegate's Prepare only.
struct PlanNode {
  TfLiteNode* node;
  TfLiteRegistration* registration;

  // The nodes that this one stands for, or NULL where it runs itself.
  const TfLiteIntArray* replaced() const {
    if (!node->delegate || !node->builtin_data) return nullptr;
    return static_cast<const TfLiteDelegateParams*>(node->builtin_data)->nodes_to_replace;
  }

  const char* op() const {
    if (registration->custom_name) return registration->custom_name;  // a custom operator, or a delegate
    const char* name = builtin_op_name(registration->builtin_code);
    return name ? name : "UNKNOWN";
  }
};

inline bool get_plan_node(TfLiteContext* context, int id, PlanNode* to) {
  return context->GetNodeAndRegistration(context, id, &to->node, &to->registration) == kTfLiteOk;
}

struct GraphLayer {
  struct Output {
    size_t tensor;  // index into TfLiteContext::tensors, as all tensors here
    int slot;
  };
  int index;             // in execution order, counting replaced nodes
  size_t plan_position;  // the node in the plan that runs it
  const char* op;
  const char* backend;
  dh_visibility visibility;
  std::vector<size_t> inputs;  // weights left out
  std::vector<Output> outputs;
};

struct Graph {
  std::vector<std::string> names;  // by tensor
  std::vector<GraphLayer> layers;
  std::vector<size_t> inputs;   // tensors that no layer makes
  std::vector<size_t> outputs;  // tensors that no layer reads
};

// Reads a TfLiteContext into a Graph.
class GraphReader {
 public:
  explicit GraphReader(TfLiteContext* context)
      : context_(context), sources_(context->tensors_size, kFed), is_read_(context->tensors_size, false) {}

  Graph read(const std::vector<PlanNode>& plan) {
    name_tensors();
    for (size_t i = 0; i < sources_.size(); ++i) {
      const TfLiteTensor& tensor = context_->tensors[i];
      if (tensor.allocation_type == kTfLiteMmapRo || is_empty(tensor)) sources_[i] = kWeight;
      if (tensor.is_variable) sources_[i] = kState;
    }
    for (size_t position = 0; position < plan.size(); ++position) {
      const PlanNode& node = plan[position];
      const TfLiteIntArray* replaced = node.replaced();
      if (!replaced) {
        add_layer(position, node, "cpu", nullptr);
        continue;
      }
      for (int i = 0; i < replaced->size; ++i) {
        PlanNode inner;
        if (get_plan_node(context_, replaced->data[i], &inner))
          add_layer(position, inner, node.op(), node.node->outputs);
      }
    }
    for (const GraphLayer& layer : graph_.layers) {
      for (const GraphLayer::Output& output : layer.outputs) {
        if (!is_read_[output.tensor]) graph_.outputs.push_back(output.tensor);
      }
    }
    return std::move(graph_);
  }

 private:
  enum Source : unsigned char { kFed, kWeight, kState, kLayer, kConstantLayer };

  // A constant without elements has no bytes in the file, so TFLite does not mark it as one.
  static bool is_empty(const TfLiteTensor& tensor) {
    return tensor.dims && std::find(tensor.dims->data, tensor.dims->data + tensor.dims->size, 0) !=
                              tensor.dims->data + tensor.dims->size;
  }

  // `readable`: of a node inside a delegate, the tensors that leave the delegate; NULL = all.
  void add_layer(size_t position, const PlanNode& from, const char* backend, const TfLiteIntArray* readable) {
    GraphLayer layer;
    layer.index = static_cast<int>(graph_.layers.size());
    layer.plan_position = position;
    layer.op = from.op();
    layer.backend = backend;

    const int code = from.registration->builtin_code;
    bool is_constant = code == kDequantizeOp || code == kDensifyOp;
    for (int i = 0; i < from.node->inputs->size; ++i) {
      if (from.node->inputs->data[i] < 0) continue;  // optional and absent
      const size_t tensor = static_cast<size_t>(from.node->inputs->data[i]);
      is_read_[tensor] = true;
      const Source source = sources_[tensor];
      if (source == kFed && !contains(graph_.inputs, tensor)) graph_.inputs.push_back(tensor);
      if (source != kWeight && source != kConstantLayer) is_constant = false;
      if (source != kWeight && source != kState) layer.inputs.push_back(tensor);
    }

    std::vector<GraphLayer::Output> hidden;
    for (int slot = 0; slot < from.node->outputs->size; ++slot) {
      const int id = from.node->outputs->data[slot];
      if (id < 0) continue;
      const size_t tensor = static_cast<size_t>(id);
      sources_[tensor] = is_constant ? kConstantLayer : kLayer;
      const bool leaves = !readable || std::find(readable->data, readable->data + readable->size, id) !=
                                           readable->data + readable->size;
      (leaves ? layer.outputs : hidden).push_back(GraphLayer::Output{tensor, slot});
    }
    layer.visibility = is_constant ? DH_CONSTANT : DH_VISIBLE;
    if (layer.outputs.empty() && !hidden.empty()) {
      layer.outputs.swap(hidden);
      if (!is_constant) layer.visibility = DH_INSIDE_DELEGATE;
    }
    graph_.layers.push_back(std::move(layer));
  }

  // TFLite's names, made unique, not empty and at most DH_MAX_NAME_BYTES long.
  void name_tensors() {
    std::set<std::string> taken;
    for (size_t i = 0; i < context_->tensors_size; ++i) {
      std::string name = context_->tensors[i].name ? context_->tensors[i].name : "";
      const std::string suffix = "#" + std::to_string(i);
      if (name.empty() || name.size() > DH_MAX_NAME_BYTES || taken.count(name)) {
        name = name.substr(0, DH_MAX_NAME_BYTES - suffix.size()) + suffix;
      }
      taken.insert(name);
      graph_.names.push_back(name);
    }
  }

  TfLiteContext* context_;
  Graph graph_;
  std::vector<Source> sources_;  // where each tensor's value comes from
  std::vector<bool> is_read_;
};

inline dh_status declare_graph(dh_session* session, const char* model_name, const char* model_hash,
                               const Graph& graph) {
  std::vector<dh_node> nodes;
  std::vector<std::vector<const char*>> names(2 * graph.layers.size());
  for (const GraphLayer& layer : graph.layers) {
    std::vector<const char*>& inputs = names[2 * nodes.size()];
    std::vector<const char*>& outputs = names[2 * nodes.size() + 1];
    for (size_t tensor : layer.inputs) inputs.push_back(graph.names[tensor].c_str());
    for (const GraphLayer::Output& output : layer.outputs) outputs.push_back(graph.names[output.tensor].c_str());
    dh_node node = dh_node();
    node.op = layer.op;
    node.inputs = inputs.data();
    node.input_count = static_cast<uint32_t>(inputs.size());
    node.outputs = outputs.data();
    node.output_count = static_cast<uint32_t>(outputs.size());
    node.backend = layer.backend;
    node.visibility = layer.visibility;
    node.index = layer.index;
    nodes.push_back(node);
  }
  dh_model model = dh_model_default();
  model.name = model_name;
  model.hash = model_hash;
  model.nodes = nodes.data();
  model.node_count = static_cast<uint32_t>(nodes.size());
  return dh_declare_model(session, &model);
}

}  // namespace tflite
}  // namespace dumphook

#endif  // DUMPHOOK_ADAPTERS_TFLITE_GRAPH_HPP
