// SPDX-License-Identifier: Apache-2.0
// What the app says about models, tensors and frames besides their bytes.
#include <cstdio>
#include <cstring>
#include <new>

#include "session/session.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

constexpr uint32_t kNodesPerMessage = 128;
constexpr uint32_t kMaxModelAttributes = 32;

// An upper bound of a string in a FlatBuffer: offset, length, NUL, padding.
size_t flat_bytes(const char* text) { return text_length(text) + 16; }

size_t flat_bytes(const dh_node& node) {
  size_t bytes = 96 + flat_bytes(node.name) + flat_bytes(node.op) + flat_bytes(node.backend);
  for (uint32_t i = 0; i < node.input_count; ++i) bytes += flat_bytes(node.inputs[i]);
  for (uint32_t i = 0; i < node.output_count; ++i) bytes += flat_bytes(node.outputs[i]);
  return bytes;
}

}  // namespace

// Encoded at once, into memory that stays; the worker numbers it and sends it, and repeats it in later streams.
Status Session::add_graph_message(const GraphView& view, size_t max_bytes) {
  const size_t room = align_up(max_bytes, size_t{8});
  auto* memory = static_cast<uint8_t*>(tensors_.keep_room(room));
  auto* notice = static_cast<Notice*>(tensors_.keep_room(sizeof(Notice)));
  if (memory == nullptr || notice == nullptr) {
    log(DH_LOG_ERROR, "the model graph does not fit: raise descriptor_bytes");
    return DH_ERR_LIMIT;
  }
  constexpr uint64_t kNotYetNumbered = 1;
  const size_t bytes = write_graph({memory, room}, kNotYetNumbered, view);
  if (bytes == 0) return DH_ERR_LIMIT;
  ::new (static_cast<void*>(notice)) Notice;
  notice->kind = Notice::Kind::graph;
  notice->message = memory;
  notice->message_bytes = bytes;
  reporter_.add_notice(notice);
  parking_.wake();
  return DH_OK;
}

Status Session::declare_model(const dh_model& model) {
  if (model.struct_size < sizeof(dh_model) || model.node_bytes < sizeof(dh_node)) return DH_ERR_ARGUMENT;
  if (model.name == nullptr || (model.node_count != 0 && model.nodes == nullptr)) return DH_ERR_ARGUMENT;
  if (text_length(model.name) > DH_MAX_NAME_BYTES) return DH_ERR_LIMIT;
  AttributeView attributes[kMaxModelAttributes];
  uint32_t attribute_count = 0;
  size_t attribute_bytes = 0;
  tensors_.lock();
  for (const ModelAttribute* at = model_attributes_; at != nullptr && attribute_count < kMaxModelAttributes; at = at->next) {
    if (std::strcmp(at->model, model.name) != 0) continue;
    attributes[attribute_count++] = {at->key, at->value};
    attribute_bytes += 32 + flat_bytes(at->key) + flat_bytes(at->value);
  }
  tensors_.unlock();

  const auto* first = reinterpret_cast<const uint8_t*>(model.nodes);
  uint32_t done = 0;
  do {
    NodeView nodes[kNodesPerMessage];
    uint32_t count = 0;
    size_t max_bytes = 256 + flat_bytes(model.name) + flat_bytes(model.hash) + attribute_bytes;
    for (; count < kNodesPerMessage && done + count < model.node_count; ++count) {
      // node_bytes is the caller's: a later header may have a longer dh_node.
      const auto& node = *reinterpret_cast<const dh_node*>(first + size_t{model.node_bytes} * (done + count));
      if ((node.input_count != 0 && node.inputs == nullptr) || (node.output_count != 0 && node.outputs == nullptr) ||
          node.visibility > DH_CONSTANT) {
        return DH_ERR_ARGUMENT;
      }
      NodeView& view = nodes[count];
      view.index = node.index;
      view.name = node.name;
      view.op = node.op;
      view.inputs = {node.inputs, node.input_count};
      view.outputs = {node.outputs, node.output_count};
      view.backend = node.backend;
      view.visibility = static_cast<uint8_t>(node.visibility);
      max_bytes += flat_bytes(node);
    }
    GraphView graph;
    graph.model = model.name;
    graph.model_hash = model.hash;
    graph.node_total = model.node_count;
    graph.first_node = done;
    graph.nodes = {nodes, count};
    if (done == 0) graph.attributes = {attributes, attribute_count};
    const Status status = add_graph_message(graph, max_bytes);
    if (status != DH_OK) return status;
    done += count;
  } while (done < model.node_count);
  return DH_OK;
}

Status Session::set_attribute(const dh_attr_target& target, const char* key, const char* value) {
  if (target.struct_size < sizeof(dh_attr_target) || key == nullptr || key[0] == '\0' || value == nullptr) {
    return DH_ERR_ARGUMENT;
  }
  const char* model = target.model != nullptr && target.model[0] != '\0' ? target.model : "model";
  switch (target.scope) {
    case DH_ATTR_SESSION: {
      auto* notice = static_cast<Notice*>(tensors_.keep_room(sizeof(Notice)));
      const char* kept_key = tensors_.keep_string(key);
      const char* kept_value = tensors_.keep_string(value);
      if (notice == nullptr || kept_key == nullptr || kept_value == nullptr) return DH_ERR_LIMIT;
      ::new (static_cast<void*>(notice)) Notice;
      notice->kind = Notice::Kind::attribute;
      notice->key = kept_key;
      notice->value = kept_value;
      reporter_.add_notice(notice);
      parking_.wake();
      return DH_OK;
    }
    case DH_ATTR_MODEL: {
      const char* kept_model = tensors_.keep_string(model);
      const char* kept_key = tensors_.keep_string(key);
      const char* kept_value = tensors_.keep_string(value);
      auto* attribute = static_cast<ModelAttribute*>(tensors_.keep_room(sizeof(ModelAttribute)));
      if (kept_model == nullptr || kept_key == nullptr || kept_value == nullptr || attribute == nullptr) {
        return DH_ERR_LIMIT;
      }
      tensors_.lock();
      *attribute = {kept_model, kept_key, kept_value, model_attributes_};
      model_attributes_ = attribute;
      tensors_.unlock();
      return DH_OK;
    }
    case DH_ATTR_FRAME: {
      if (std::strlen(key) >= sizeof(FrameAttribute::key) || std::strlen(value) >= sizeof(FrameAttribute::value)) {
        return DH_ERR_LIMIT;
      }
      FrameSlot* slot = frames_.enter(target.frame);
      if (slot == nullptr) return DH_ERR_ARGUMENT;
      Status status = DH_ERR_LIMIT;
      tensors_.lock();
      const uint32_t count = slot->attribute_count.load(std::memory_order_relaxed);
      if (count < FrameSlot::kMaxAttributes) {
        std::snprintf(slot->attributes[count].key, sizeof slot->attributes[count].key, "%s", key);
        std::snprintf(slot->attributes[count].value, sizeof slot->attributes[count].value, "%s", value);
        slot->attribute_count.store(count + 1, std::memory_order_release);
        status = DH_OK;
      }
      tensors_.unlock();
      frames_.leave(slot);
      return status;
    }
    case DH_ATTR_TENSOR:
      if (target.tensor == nullptr || target.tensor[0] == '\0') return DH_ERR_ARGUMENT;
      return tensors_.add_attribute(model, target.tensor, key, value);
    default:
      return DH_ERR_ARGUMENT;
  }
}

}  // namespace dumphook
