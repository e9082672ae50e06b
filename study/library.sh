# SPDX-License-Identifier: BSD-3-Clause
# To be sourced after smpi.sh: compiles the whole library with SimGrid's compiler, and links
# programs of this folder to it.
JOBS=${JOBS:-2}  # compilers at once
stages=(statistics slice autocorrelation)
includes=(-I"$here" -I"$src" -I"$here/../include" -I"$BUILD/include")
# smpicxx would redefine `free` and `sleep`, which are names of members here.
smpi=$(dirname "$(find /usr/include /usr/local/include -path '*/smpi/mpi.h' 2>/dev/null | head -n 1)")

is_new() {  # file, folders: newer than all their sources?
  [ -e "$1" ] && [ -z "$(find "${@:2}" \( -name '*.[ch]pp' -o -name '*.a' \) -newer "$1")" ]
}

write_version() {
  local version major minor patch
  version=$(head -n 1 "$here/../VERSION")
  IFS=. read -r major minor patch <<<"$version"
  mkdir -p "$BUILD/include/pillion"
  sed "s/@PROJECT_VERSION_MAJOR@/$major/; s/@PROJECT_VERSION_MINOR@/$minor/
    s/@PROJECT_VERSION_PATCH@/$patch/; s/@PROJECT_VERSION@/$version/" \
    "$here/../include/pillion/version.h.in" >"$BUILD/include/pillion/version.h.new"
  cmp -s "$BUILD/include/pillion/version.h"{.new,} ||
    mv "$BUILD/include/pillion/version.h"{.new,}
}

launcher=$(command -v ccache || true)

compile() {  # source, object
  timeout 500 ${launcher:-} g++ -std=c++20 -O1 -fPIC -fvisibility=hidden -isystem "$smpi" \
    "${includes[@]}" -DPILLION_LIBDIR='"lib"' -c "$1" -o "$2"
}

# A folder of the library is one unit, so that its headers are read once. If two of its files define
# the same name, each is compiled by itself.
compile_folder() {  # name of the folder
  local unit=$BUILD/units/$1 file
  printf '#include "%s"\n' "$src/$1"/*.cpp >"$unit.cpp"
  compile "$unit.cpp" "$unit.o" 2>/dev/null && return
  mkdir -p "$unit"
  for file in "$src/$1"/*.cpp; do compile "$file" "$unit/$(basename "$file").o"; done
  ld -r -o "$unit.o" "$unit"/*.o
}

build_library() {
  is_new "$BUILD/libpillion.a" "$src" "$here/../include" "$here/../stages" && return
  local folder folders=()
  export here src BUILD
  write_version
  rm -rf "$BUILD/units"  # of folders that are no more
  mkdir -p "$BUILD/units" "$BUILD/stages"
  for folder in "$src"/*/*.cpp; do folders+=("$(basename "$(dirname "$folder")")"); done
  # shellcheck disable=SC2016  # the inner shell expands it
  printf '%s\n' "${folders[@]}" | grep -vx idx | uniq |
    xargs -P "$JOBS" -I{} "$BASH" -c '. "$0"; compile_folder {}' "$here/library.sh"
  rm -f "$BUILD/libpillion.a"
  ar rcs "$BUILD/libpillion.a" "$BUILD"/units/*.o
  printf '%s\n' "${stages[@]}" |
    xargs -P "$JOBS" -I{} timeout 300 ${launcher:-} g++ -std=c++20 -O1 -fPIC -shared -fvisibility=hidden \
      -isystem "$smpi" "${includes[@]}" -o "$BUILD/stages/{}.so" "$here/../stages/{}/{}.cpp"
}

build_engine() {
  local name
  is_new "$BUILD/engine" "$BUILD/libpillion.a" "$here"/engine* && return
  mkdir -p "$BUILD/engine-objects"
  for name in engine engine_collectives engine_mpi engine_network; do
    compile "$here/$name.cpp" "$BUILD/engine-objects/$name.cpp.o"
  done
  timeout 300 g++ -shared -Wl,--gc-sections,-Bsymbolic,-z,defs -o "$BUILD/engine" \
    "$BUILD"/engine-objects/engine{,_collectives,_mpi,_network}.cpp.o -Wl,--whole-archive "$BUILD/libpillion.a" \
    -Wl,--no-whole-archive -lsimgrid -lyaml-cpp -lfmt -lhwloc -ldl
}
