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
constexpr uint32_t kMaxChangeNotices = 16;
constexpr size_t kLeastChangeBytes = 512;

// An upper bound of a string in a FlatBuffer: offset, length, NUL, padding.
size_t flat_bytes(const char* text) { return text_length(text) + 16; }

size_t flat_bytes(const dh_node& node) {
  size_t bytes = 96 + flat_bytes(node.name) + flat_bytes(node.op) + flat_bytes(node.backend);
  for (uint32_t i = 0; i < node.input_count; ++i) bytes += flat_bytes(node.inputs[i]);
  for (uint32_t i = 0; i < node.output_count; ++i) bytes += flat_bytes(node.outputs[i]);
  return bytes;
}

}  // namespace

Notice* Session::make_attribute_notice(const char* key, const char* value) {
  const size_t key_bytes = std::strlen(key) + 1;
  const size_t value_bytes = std::strlen(value) + 1;
  void* room = tensors_.keep_room(sizeof(Notice) + key_bytes + value_bytes);
  if (room == nullptr) return nullptr;
  auto* notice = ::new (room) Notice;
  auto* text = reinterpret_cast<char*>(notice + 1);
  notice->kind = Notice::Kind::attribute;
  notice->key = static_cast<const char*>(std::memcpy(text, key, key_bytes));
  notice->value = static_cast<const char*>(std::memcpy(text + key_bytes, value, value_bytes));
  return notice;
}

// Notices of changes are used again once they have been said: an app may configure as often as it likes.
Notice* Session::make_change_notice(const char* text) {
  const size_t bytes = std::strlen(text) + 1;
  Notice* notice = nullptr;
  tensors_.lock();
  for (Notice* spent = reporter_.take_spent(); spent != nullptr;) {
    Notice* next = spent->next;
    spent->next = spare_changes_;
    spare_changes_ = spent;
    spent = next;
  }
  for (Notice** link = &spare_changes_; *link != nullptr && notice == nullptr; link = &(*link)->next) {
    if ((*link)->room < bytes) continue;
    notice = *link;
    *link = notice->next;
    break;
  }
  const bool may_grow = notice == nullptr && change_count_ < kMaxChangeNotices;
  change_count_ += may_grow ? 1 : 0;
  tensors_.unlock();
  if (may_grow) {
    const size_t room = align_up(bytes, kLeastChangeBytes);
    void* memory = tensors_.keep_room(sizeof(Notice) + room);
    if (memory == nullptr) return nullptr;
    notice = ::new (memory) Notice;
    notice->kind = Notice::Kind::config_change;
    notice->room = room;
  }
  if (notice != nullptr) notice->value = static_cast<const char*>(std::memcpy(notice + 1, text, bytes));
  return notice;
}

// Encoded at once, into memory that stays; the worker numbers it and sends it, and repeats it in later streams.
Status Session::add_graph_message(const GraphView& view, size_t max_bytes) {
  const size_t room = align_up(max_bytes, size_t{8});
  if (kMessageHeaderBytes + room > Spool::max_record_bytes(static_cast<size_t>(options_.spool_bytes))) {
    log(DH_LOG_ERROR, "the model graph's names do not fit a message: raise spool_bytes");
    return DH_ERR_LIMIT;
  }
  tensors_.lock();
  const bool too_many = graph_messages_ == StreamState::kMaxGraphMessages;
  graph_messages_ += too_many ? 0 : 1;
  tensors_.unlock();
  void* memory = too_many ? nullptr : tensors_.keep_room(sizeof(Notice) + room);
  if (memory == nullptr) {
    log(DH_LOG_ERROR,
        too_many ? "too many model graphs, or too many nodes" : "the model graph does not fit: raise descriptor_bytes");
    return DH_ERR_LIMIT;
  }
  auto* notice = ::new (memory) Notice;
  notice->kind = Notice::Kind::graph;
  notice->message = reinterpret_cast<uint8_t*>(notice + 1);
  constexpr uint64_t kNotYetNumbered = 1;
  notice->message_bytes = write_graph({notice->message, room}, kNotYetNumbered, view);
  if (notice->message_bytes == 0) return DH_ERR_LIMIT;
  reporter_.add_notice(notice);
  parking_.wake();
  return DH_OK;
}

// An attribute of a model that has been declared already: a graph message of no nodes.
Status Session::add_late_model_attribute(const DeclaredModel& model, const AttributeView& attribute) {
  GraphView graph;
  graph.model = model.name;
  graph.node_total = graph.first_node = model.node_count;
  graph.attributes = {&attribute, 1};
  return add_graph_message(graph,
                           256 + flat_bytes(model.name) + 32 + flat_bytes(attribute.key) + flat_bytes(attribute.value));
}

Status Session::declare_model(const dh_model& model) {
  if (model.struct_size < sizeof(dh_model) || model.node_bytes < sizeof(dh_node)) return DH_ERR_ARGUMENT;
  if (model.name == nullptr || (model.node_count != 0 && model.nodes == nullptr)) return DH_ERR_ARGUMENT;
  if (model.node_bytes % alignof(dh_node) != 0) return DH_ERR_ARGUMENT;
  if (text_length(model.name) > DH_MAX_NAME_BYTES) return DH_ERR_LIMIT;
  AttributeView attributes[kMaxModelAttributes];
  uint32_t attribute_count = 0;
  size_t attribute_bytes = 0;
  tensors_.lock();
  for (const ModelAttribute* at = model_attributes_; at != nullptr && attribute_count < kMaxModelAttributes;
       at = at->next) {
    bool newer =
        std::strcmp(at->model, model.name) != 0;  // the list is newest first, and the newest value of a key holds
    for (uint32_t i = 0; i < attribute_count; ++i) newer |= std::strcmp(attributes[i].key, at->key) == 0;
    if (newer) continue;
    attributes[attribute_count++] = {at->key, at->value};
    attribute_bytes += 32 + flat_bytes(at->key) + flat_bytes(at->value);
  }
  tensors_.unlock();

  // All or nothing: first the nodes are looked at, then said.
  const auto* first = reinterpret_cast<const uint8_t*>(model.nodes);
  // node_bytes is the caller's: a later header may have a longer dh_node.
  const auto node_at = [&](uint32_t index) -> const dh_node& {
    return *reinterpret_cast<const dh_node*>(first + size_t{model.node_bytes} * index);
  };
  const size_t message_bytes = 256 + flat_bytes(model.name) + flat_bytes(model.hash) + attribute_bytes;
  uint64_t all_bytes = 0;
  for (uint32_t i = 0; i < model.node_count; ++i) {
    const dh_node& node = node_at(i);
    if ((node.input_count != 0 && node.inputs == nullptr) || (node.output_count != 0 && node.outputs == nullptr) ||
        node.visibility > DH_CONSTANT) {
      return DH_ERR_ARGUMENT;
    }
    all_bytes += flat_bytes(node) + (i % kNodesPerMessage == 0 ? sizeof(Notice) + message_bytes + 16 : 0);
  }
  if (!tensors_.has_room(all_bytes)) {
    log(DH_LOG_ERROR, "the model graph does not fit: raise descriptor_bytes");
    return DH_ERR_LIMIT;
  }

  auto* declared = static_cast<DeclaredModel*>(tensors_.keep_room(sizeof(DeclaredModel)));
  const char* kept_name = tensors_.keep_string(model.name);
  if (declared == nullptr || kept_name == nullptr) return DH_ERR_LIMIT;

  uint32_t done = 0;
  do {
    NodeView nodes[kNodesPerMessage];
    uint32_t count = 0;
    size_t max_bytes = message_bytes;
    for (; count < kNodesPerMessage && done + count < model.node_count; ++count) {
      const dh_node& node = node_at(done + count);
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
  tensors_.lock();
  *declared = {kept_name, model.node_count, declared_models_};
  declared_models_ = declared;
  tensors_.unlock();
  return DH_OK;
}

Status Session::set_attribute(const dh_attr_target& target, const char* key, const char* value) {
  if (target.struct_size < sizeof(dh_attr_target) || key == nullptr || key[0] == '\0' || value == nullptr) {
    return DH_ERR_ARGUMENT;
  }
  if (std::strlen(key) > StreamState::kMaxAttributeKeyBytes ||
      std::strlen(value) > StreamState::kMaxAttributeValueBytes) {
    return DH_ERR_LIMIT;
  }
  const char* model = target.model != nullptr && target.model[0] != '\0' ? target.model : "model";
  switch (target.scope) {
    case DH_ATTR_SESSION: {
      Notice* notice = make_attribute_notice(key, value);
      if (notice == nullptr) return DH_ERR_LIMIT;
      notice->frame = next_frame_.load(std::memory_order_relaxed);
      reporter_.add_notice(notice);
      parking_.wake();
      return DH_OK;
    }
    case DH_ATTR_MODEL: {
      const char* const texts[] = {model, key, value};
      const char* kept[3];
      auto* attribute = static_cast<ModelAttribute*>(tensors_.keep_room(sizeof(ModelAttribute)));
      if (attribute == nullptr || !tensors_.keep_strings(texts, kept)) return DH_ERR_LIMIT;
      tensors_.lock();
      *attribute = {kept[0], kept[1], kept[2], model_attributes_};
      model_attributes_ = attribute;
      const DeclaredModel* declared = declared_models_;
      while (declared != nullptr && std::strcmp(declared->name, model) != 0) declared = declared->next;
      tensors_.unlock();
      return declared == nullptr ? DH_OK : add_late_model_attribute(*declared, {kept[1], kept[2]});
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
    default: return DH_ERR_ARGUMENT;
  }
}

}  // namespace dumphook
