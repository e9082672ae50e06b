// SPDX-License-Identifier: BSD-3-Clause
// XDMF 2, which all readers take.
#include "xdmf.hpp"

#include <cstdio>

#include "../../common/names.hpp"

namespace pillion::stages::write_hdf5 {
namespace {

std::string real(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string joined(const std::vector<int64_t>& numbers) {
  std::string out;
  for (const auto n : numbers) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}

/// Numbers in the document itself.
std::string reals(const std::vector<double>& values) {
  std::string out = "<DataItem Dimensions=\"" + std::to_string(values.size()) +
                    "\" NumberType=\"Float\" Precision=\"8\" Format=\"XML\">";
  for (size_t n = 0; n < values.size(); ++n) out += (n > 0 ? " " : "") + real(values[n]);
  return out + "</DataItem>";
}

const char* kind_of(int32_t components) {
  return components == 1 ? "Scalar" : components == 3 ? "Vector" : "Matrix";
}

}  // namespace

std::vector<int64_t> kept_cells(const pillion_field_description& mesh, int64_t coarsening) {
  std::vector<int64_t> out;
  for (int32_t a = mesh.axes; a-- > 0;)
    out.push_back((mesh.cells[a] + coarsening - 1) / coarsening);
  return out;
}

std::string Xdmf::extent(const write::StoredStep& step) const {
  if (!position.empty()) return std::to_string(step.count);
  return joined(kept_cells(fields.mesh(), step.coarsening));
}

namespace {

/// XDMF has names of its own for small integers. Readers take all other
/// unsigned ones for 4 bytes, so 8 bytes have a sign here.
const char* number_type(pillion_type type) {
  switch (type) {
    case PILLION_FLOAT32:
    case PILLION_FLOAT64: return "Float";
    case PILLION_INT8: return "Char";
    case PILLION_UINT8: return "UChar";
    case PILLION_INT16: return "Short";
    case PILLION_UINT16: return "UShort";
    case PILLION_UINT32: return "UInt";
    default: return "Int";
  }
}

}  // namespace

std::string Xdmf::item(const write::StoredStep& step, size_t field) const {
  const auto& is = fields.fields[field];
  std::string dimensions = extent(step);
  if (is.components > 1) dimensions += " " + std::to_string(is.components);
  return "<DataItem Dimensions=\"" + dimensions + "\" NumberType=\"" + number_type(is.type) +
         "\" Precision=\"" + std::to_string(stage::size_of_element(is.type)) +
         "\" Format=\"HDF\">" +
         escaped_for_xml(path_of(name, step.step) + ":/" + fields.names[field]) + "</DataItem>";
}

/// Of a rectilinear mesh, whose faces are in the step's file.
std::string Xdmf::rectilinear(const write::StoredStep& step) const {
  const auto& mesh = fields.mesh();
  auto nodes = kept_cells(mesh, step.coarsening);
  for (auto& n : nodes) ++n;
  std::string out = "<Topology TopologyType=\"" + std::to_string(mesh.axes) +
                    "DRectMesh\" Dimensions=\"" + joined(nodes) +
                    "\"/>\n        <Geometry GeometryType=\"" +
                    (mesh.axes == 2 ? "VXVY" : "VXVYVZ") + "\">";
  for (int32_t a = 0; a < mesh.axes; ++a)
    out += "<DataItem Dimensions=\"" +
           std::to_string(nodes[static_cast<size_t>(mesh.axes - 1 - a)]) +
           "\" NumberType=\"Float\" Precision=\"8\" Format=\"HDF\">" +
           escaped_for_xml(path_of(name, step.step) + ":/" + "xyz"[a] + "_faces") + "</DataItem>";
  return out + "</Geometry>\n";
}

std::string Xdmf::image(const write::StoredStep& step) const {
  const auto& mesh = fields.mesh();
  if (mesh.mesh_kind == PILLION_RECTILINEAR) return rectilinear(step);
  auto nodes = kept_cells(mesh, step.coarsening);
  std::vector<double> origin, spacing;
  for (int32_t a = mesh.axes; a-- > 0;) {
    origin.push_back(mesh.origin[a]);
    spacing.push_back(mesh.length[a] / static_cast<double>(mesh.cells[a]) *
                      static_cast<double>(step.coarsening));
  }
  for (auto& n : nodes) ++n;
  // Where meshes have two axes VTK takes two numbers for those of y and z.
  origin.insert(origin.begin(), 3 - origin.size(), 0.0);
  spacing.insert(spacing.begin(), 3 - spacing.size(), 1.0);
  return "<Topology TopologyType=\"" + std::to_string(mesh.axes) + "DCoRectMesh\" Dimensions=\"" +
         joined(nodes) + "\"/>\n        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">" + reals(origin) +
         reals(spacing) + "</Geometry>\n";
}

std::string Xdmf::points(const write::StoredStep& step) const {
  size_t at = 0;
  while (fields.names[at] != position) ++at;
  return "<Topology TopologyType=\"Polyvertex\" NodesPerElement=\"1\" NumberOfElements=\"" +
         extent(step) + "\"/>\n        <Geometry GeometryType=\"XYZ\">" + item(step, at) +
         "</Geometry>\n";
}

std::string Xdmf::grid(const write::StoredStep& step) const {
  const bool is_points = !position.empty();
  std::string out = "      <Grid Name=\"" + escaped_for_xml(name) +
                    "\" GridType=\"Uniform\">\n        <Time Value=\"" + real(step.time) +
                    "\"/>\n        " + (is_points ? points(step) : image(step));
  for (size_t f = 0; f < fields.names.size(); ++f)
    if (fields.names[f] != position)
      out += "        <Attribute Name=\"" + escaped_for_xml(fields.names[f]) +
             "\" AttributeType=\"" + kind_of(fields.fields[f].components) + "\" Center=\"" +
             (is_points ? "Node" : "Cell") + "\">" + item(step, f) + "</Attribute>\n";
  return out + "      </Grid>\n";
}

// A step without particles has no points that readers could show.
std::string Xdmf::text(const std::vector<write::StoredStep>& steps) const {
  std::string out =
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"2.0\">\n  <Domain>\n    <Information "
      "Name=\"origin\" Value=\"" +
      escaped_for_xml(origin) + "\"/>\n    <Grid Name=\"" + escaped_for_xml(name) +
      "\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  for (const auto& step : steps)
    if (step.count > 0) out += grid(step);
  return out + "    </Grid>\n  </Domain>\n</Xdmf>\n";
}

}  // namespace pillion::stages::write_hdf5
