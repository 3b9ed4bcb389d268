// SPDX-License-Identifier: Apache-2.0
#include "file_writers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "dumphook/dumphook.h"
#ifdef BENCH_HDF5
#include <hdf5.h>
#endif
#ifdef BENCH_MCAP
#include "mcap_writer/mcap_writer.h"
#endif

namespace bench {
namespace {

bool write_all(int file, dumphook::ConstBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t taken = write(file, bytes.data, bytes.size);
    if (taken <= 0) return false;
    bytes = bytes.from(static_cast<size_t>(taken));
  }
  return true;
}

bool write_raw(const Tensors& tensors, const std::string& path) {
  const int file = open((path + "/raw").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  bool ok = file >= 0;
  for (const Tensor& tensor : tensors) ok = ok && write_all(file, tensor.span());
  return close(file) == 0 && ok;
}

bool write_npy(const Tensors& tensors, const std::string& path) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    FILE* file = fopen((path + "/" + std::to_string(i) + ".npy").c_str(), "wb");
    if (file == nullptr) return false;
    const Tensor& tensor = tensors[i];
    char header[129];
    snprintf(header, sizeof header, "\x93NUMPY\x01%c\x76%c{'descr': '%s', 'fortran_order': False, 'shape': (%zu,)}", 0,
             0, tensor.dtype == DH_F32 ? "<f4" : "|i1", tensor.bytes.size() / element_bytes(tensor.dtype));
    std::fill(std::find(header + 10, header + 127, '\0'), header + 127, ' ');
    header[127] = '\n';
    const bool ok = fwrite(header, 1, 128, file) == 128 &&
                    fwrite(tensor.bytes.data(), 1, tensor.bytes.size(), file) == tensor.bytes.size();
    if (fclose(file) != 0 || !ok) return false;
  }
  return true;
}

#ifdef BENCH_HDF5
constexpr hsize_t kHdf5ChunkBytes = 256 << 10;

// A dataset per tensor. filter 0: none, in one piece.
bool write_hdf5(const Tensors& tensors, const std::string& path, H5Z_filter_t filter, std::vector<unsigned> values) {
  const hid_t file = H5Fcreate((path + "/tensors.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = file >= 0;
  for (size_t i = 0; ok && i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const hid_t type = tensor.dtype == DH_F32 ? H5T_IEEE_F32LE : H5T_STD_I8LE;
    const hsize_t count = tensor.bytes.size() / element_bytes(tensor.dtype);
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (filter != 0) {
      const hsize_t chunk = std::min<hsize_t>(count, kHdf5ChunkBytes / element_bytes(tensor.dtype));
      H5Pset_chunk(properties, 1, &chunk);
      ok = H5Pset_filter(properties, filter, H5Z_FLAG_OPTIONAL, values.size(), values.data()) >= 0;
    }
    const hid_t set = H5Dcreate2(file, std::to_string(i).c_str(), type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ok = ok && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes.data()) >= 0;
    H5Dclose(set);
    H5Pclose(properties);
    H5Sclose(space);
  }
  return H5Fclose(file) >= 0 && ok;
}
bool write_hdf5_plain(const Tensors& tensors, const std::string& path) { return write_hdf5(tensors, path, 0, {}); }
// Numbers of the HDF Group's registry of filters, and their parameters.
constexpr H5Z_filter_t kHdf5Blosc = 32001, kHdf5Lz4 = 32004;
bool write_hdf5_lz4(const Tensors& tensors, const std::string& path) { return write_hdf5(tensors, path, kHdf5Lz4, {}); }
bool write_hdf5_blosc(const Tensors& tensors, const std::string& path) {
  constexpr unsigned kLevel = 5, kShuffle = 1, kCompressorLz4 = 1;
  return write_hdf5(tensors, path, kHdf5Blosc, {0, 0, 0, 0, kLevel, kShuffle, kCompressorLz4});
}
#endif

#ifdef BENCH_MCAP
template <bool kLz4>
bool write_mcap(const Tensors& tensors, const std::string& path) {
  std::vector<std::string> topics;
  for (const Tensor& tensor : tensors) topics.push_back("/" + tensor.model + "/" + tensor.name);
  std::vector<mcap_writer_message> messages;
  for (size_t i = 0; i < tensors.size(); ++i) {
    messages.push_back({topics[i].c_str(), tensors[i].bytes.data(), tensors[i].bytes.size()});
  }
  return mcap_writer_write((path + "/tensors.mcap").c_str(), messages.data(), messages.size(), kLz4) == 0;
}
#endif

}  // namespace

const std::vector<FileWriter>& other_writers() {
  static const std::vector<FileWriter> all = {
      {"raw-write", write_raw},
      {"npy-per-layer", write_npy},
#ifdef BENCH_HDF5
      {"hdf5", write_hdf5_plain},
      {"hdf5-lz4", H5Zfilter_avail(kHdf5Lz4) > 0 ? write_hdf5_lz4 : nullptr},
      {"hdf5-blosc-lz4-shuffle", H5Zfilter_avail(kHdf5Blosc) > 0 ? write_hdf5_blosc : nullptr},
#endif
#ifdef BENCH_MCAP
      {"mcap", write_mcap<false>},
      {"mcap-lz4", write_mcap<true>},
#endif
  };
  return all;
}

}  // namespace bench
