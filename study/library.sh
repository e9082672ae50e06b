# SPDX-License-Identifier: BSD-3-Clause
# To be sourced after smpi.sh: compiles the whole library with SimGrid's compiler, and links
# programs of this folder to it.
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

compile() {  # folder for objects, sources: two at a time
  export OBJECTS=$1
  mkdir -p "$OBJECTS"
  # shellcheck disable=SC2016  # the inner shell expands them
  printf '%s\n' "${@:2}" | xargs -P 2 -I{} sh -c 'file=$0; exec timeout 500 "$@" -c "$file" -o "$OBJECTS/$(basename "$file").o"' \
    {} ${launcher:-} g++ -std=c++20 -O1 -fPIC -fvisibility=hidden -isystem "$smpi" "${includes[@]}" \
    -DPILLION_LIBDIR='"lib"'
}

# A folder of the library is one unit: its headers are read once.
build_library() {
  is_new "$BUILD/libpillion.a" "$src" "$here/../include" "$here/../stages" && return
  local folder
  write_version
  rm -rf "$BUILD/units"  # of folders that are no more
  mkdir -p "$BUILD/units" "$BUILD/stages"
  for folder in "$src"/*/; do
    [ "$(basename "$folder")" = idx ] && continue
    find "$folder" -maxdepth 1 -name '*.cpp' | sort | sed 's/.*/#include "&"/' \
      >"$BUILD/units/$(basename "$folder").cpp"
  done
  compile "$BUILD/units" "$BUILD"/units/*.cpp
  rm -f "$BUILD/libpillion.a"
  ar rcs "$BUILD/libpillion.a" "$BUILD"/units/*.o
  printf '%s\n' "${stages[@]}" |
    xargs -P 2 -I{} timeout 300 ${launcher:-} g++ -std=c++20 -O1 -fPIC -shared -fvisibility=hidden \
      -isystem "$smpi" "${includes[@]}" -o "$BUILD/stages/{}.so" "$here/../stages/{}/{}.cpp"
}

build_engine() {
  is_new "$BUILD/engine" "$BUILD/libpillion.a" "$here"/engine* && return
  compile "$BUILD/engine-objects" "$here/engine.cpp" "$here/engine_mpi.cpp"
  timeout 300 g++ -shared -Wl,--gc-sections,-Bsymbolic,-z,defs -o "$BUILD/engine" \
    "$BUILD"/engine-objects/engine{,_mpi}.cpp.o -Wl,--whole-archive "$BUILD/libpillion.a" \
    -Wl,--no-whole-archive -lsimgrid -lyaml-cpp -lfmt -lhwloc -ldl
}
