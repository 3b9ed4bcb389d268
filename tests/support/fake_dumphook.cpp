// SPDX-License-Identifier: Apache-2.0
#include "fake_dumphook.h"

using dumphook::test::RecordedModel;
using dumphook::test::RecordedNode;
using dumphook::test::RecordedTensor;

uint32_t dh_epoch = 1;

namespace {

std::string text(const char* chars) { return chars ? chars : ""; }

}  // namespace

const char* dh_status_text(dh_status) { return "a status"; }

dh_status dh_declare_model(dh_session* session, const dh_model* model) {
  if (!session) return DH_SKIPPED;
  RecordedModel recorded;
  recorded.name = text(model->name);
  for (uint32_t i = 0; i < model->node_count; ++i) {
    const dh_node& node = model->nodes[i];
    RecordedNode to;
    to.index = node.index;
    to.op = text(node.op);
    to.backend = text(node.backend);
    to.visibility = static_cast<dh_visibility>(node.visibility);
    to.inputs.assign(node.inputs, node.inputs + node.input_count);
    to.outputs.assign(node.outputs, node.outputs + node.output_count);
    recorded.nodes.push_back(to);
  }
  session->models.push_back(recorded);
  return DH_OK;
}

dh_status dh_capture(dh_session* session, dh_tap* tap, dh_frame frame, const dh_tensor* tensor) {
  if (!session) return DH_SKIPPED;
  ++session->captures;
  if (!session->keep) return DH_DROPPED;
  RecordedTensor to;
  to.frame = frame;
  to.tap = tap;
  to.model = text(tensor->model);
  to.name = text(tensor->name);
  to.op = text(tensor->op);
  to.raw_type = text(tensor->raw_type);
  to.origins.assign(tensor->origin_names, tensor->origin_names + tensor->origin_count);
  to.role = static_cast<dh_role>(tensor->role);
  to.dtype = static_cast<dh_dtype>(tensor->dtype);
  to.layout = static_cast<dh_layout>(tensor->layout);
  to.shape.assign(tensor->shape, tensor->shape + tensor->rank);
  const dh_quant& quant = tensor->quant;
  to.quant_kind = static_cast<dh_quant_kind>(quant.kind);
  to.axis = quant.axis;
  to.scales.assign(quant.scale, quant.scale + quant.count);
  if (quant.zero_point) to.zero_points.assign(quant.zero_point, quant.zero_point + quant.count);
  to.node_index = tensor->node_index;
  to.slot = tensor->output_slot;
  to.instance = tensor->instance;
  const auto* bytes = static_cast<const uint8_t*>(tensor->data);
  to.bytes.assign(bytes, bytes + tensor->data_bytes);
  session->tensors.push_back(to);
  return DH_OK;
}
