//! Compares a type of the host with the layout that a shader declares, number by number. Everything here is `const`:
//! derives let the compiler do the comparison, because only the compiler can resolve type names.

use std::borrow::Cow;

use crate::{DType, Dim, Layout, Leaf, Scalar, StructType};

/// Returns the first difference between an array's element and a buffer's; `None` if they agree.
///
/// Numbers of one or two bytes also agree with a buffer of `u32`, in which they are packed. A buffer type without a
/// host layout, such as a struct that ends in a runtime-sized array, agrees with `u32` for its words.
pub const fn buffer_mismatch(host: &DType, shader: Option<&Layout<'_>>) -> Option<Text> {
    match shader {
        Some(shader) if is_packed(host) && is_word(shader) => None,
        Some(shader) => misfit(host, shader),
        None if matches!(host, DType::Scalar(Scalar::U32)) => None,
        None => Some(Text::EMPTY.and("the host has no such type: pass its words, an array of u32")),
    }
}

/// Returns the first difference between a value and a parameter; `None` if they agree.
pub const fn value_mismatch(host: &DType, shader: Option<&Layout<'_>>) -> Option<Text> {
    match shader {
        Some(shader) => misfit(host, shader),
        None => Some(Text::EMPTY.and("the host has no such type")),
    }
}

const fn is_packed(host: &DType) -> bool {
    matches!(host.scalar(), Some(scalar) if scalar.size() < 4)
}

const fn is_word(shader: &Layout<'_>) -> bool {
    let leaves = leaves(shader);
    shader.size == 4 && leaves.len() == 1 && leaves[0].scalar.same(Scalar::U32) && dims(&leaves[0]).is_empty()
}

const fn misfit(host: &DType, shader: &Layout<'_>) -> Option<Text> {
    if let Order::Another(text) = in_order(host, Text::EMPTY, shader, Last { path: Text::EMPTY, offset: 0 }) {
        return Some(text);
    }
    let root = Place { path: Text::EMPTY, offset: 0, dims: [Dim { len: 0, stride: 0 }; DEEP], deep: 0 };
    if let Some(text) = compare(host, root, shader) {
        return Some(text);
    }
    let all = leaves(shader);
    let mut at = 0;
    while at < all.len() {
        if !is_padding(path(&all[at])) && !has(host, Text::EMPTY, path(&all[at])) {
            return Some(
                Text::EMPTY
                    .and("the shader's struct has a member `")
                    .and(path(&all[at]))
                    .and("`, the host's has none"),
            );
        }
        at += 1;
    }
    sizes(host, shader.size)
}

/// The host's number that was compared last.
#[derive(Clone, Copy)]
struct Last {
    path: Text,
    /// Offset of the number in the shader.
    offset: u32,
}

/// Result of a comparison of orders: the last number up to which they agree, or a description of the difference.
enum Order {
    Same(Last),
    Another(Text),
}

/// Checks that the host's numbers have ascending offsets in the shader too; otherwise, describes two that do not.
const fn in_order(host: &DType, so_far: Text, shader: &Layout<'_>, last: Last) -> Order {
    match host {
        DType::Scalar(_) => {
            let Some(at) = find(shader, so_far.as_str()) else { return Order::Same(last) };
            let offset = leaves(shader)[at].offset;
            if offset >= last.offset {
                return Order::Same(Last { path: so_far, offset });
            }
            let text = Text::EMPTY.and("the fields are in another order: `").and(last.path.as_str());
            let text = text.and("` comes before `").and(so_far.as_str()).and("` on the host");
            Order::Another(text.and(" and after it in the shader: use one order"))
        }
        DType::Array(of, _) => in_order(of, so_far, shader, last),
        DType::Struct(of) => {
            let mut last = last;
            let mut at = 0;
            while at < of.fields.len() {
                let field = &of.fields[at];
                match in_order(&field.dtype, joined(so_far, field.name), shader, last) {
                    Order::Same(next) => last = next,
                    another => return another,
                }
                at += 1;
            }
            Order::Same(last)
        }
    }
}

/// Returns the index of the shader's number with this path.
const fn find(shader: &Layout<'_>, wanted: &str) -> Option<usize> {
    let all = leaves(shader);
    let mut at = 0;
    while at < all.len() {
        if equal(path(&all[at]), wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn sizes(of: &DType, shader: u32) -> Option<Text> {
    let host = of.size() as u32;
    let text = Text::EMPTY
        .and("it takes ")
        .number(host)
        .and(" bytes on the host and ")
        .number(shader)
        .and(" in the shader");
    if host == shader {
        None
    } else if !matches!(of, DType::Struct(_)) {
        Some(if host < shader { text.and(FOURTH) } else { text })
    } else if host < shader {
        Some(text.and(": add ").padding(shader - host).and(" at its end"))
    } else {
        Some(text)
    }
}

/// Maximum dimensions of a block of numbers: WGSL's limit for nested types, and those of a matrix.
const DEEP: usize = 17;

/// Position of the comparison in the host's type.
#[derive(Clone, Copy)]
struct Place {
    path: Text,
    offset: u32,
    dims: [Dim; DEEP],
    deep: usize,
}

impl Place {
    const fn within(mut self, len: usize, stride: usize) -> Self {
        if self.deep < DEEP {
            self.dims[self.deep] = Dim { len: len as u32, stride: stride as u32 };
        }
        self.deep += 1;
        self
    }

    const fn field(mut self, name: &str, offset: usize) -> Self {
        self.path = joined(self.path, name);
        self.offset += offset as u32;
        self
    }

    /// Replaces packed numbers by words, if they fill whole words.
    const fn words(mut self, size: u32) -> Option<Self> {
        if self.deep == 0 || self.deep > DEEP {
            return None;
        }
        let last = self.dims[self.deep - 1];
        if last.stride != size || !(last.len * size).is_multiple_of(4) {
            return None;
        }
        if last.len * size == 4 {
            self.deep -= 1;
        } else {
            self.dims[self.deep - 1] = Dim { len: last.len * size / 4, stride: 4 };
        }
        Some(self)
    }
}

const fn joined(path: Text, name: &str) -> Text {
    if path.len == 0 { Text::EMPTY.and(name) } else { path.and(".").and(name) }
}

const fn compare(host: &DType, place: Place, shader: &Layout<'_>) -> Option<Text> {
    match host {
        DType::Scalar(scalar) => leaf(*scalar, place, shader),
        DType::Array(of, len) => compare(of, place.within(*len, of.size()), shader),
        DType::Struct(of) => {
            let mut at = 0;
            while at < of.fields.len() {
                let field = &of.fields[at];
                if let Some(text) = compare(&field.dtype, place.field(field.name, field.offset), shader) {
                    return Some(text);
                }
                at += 1;
            }
            None
        }
    }
}

const fn leaf(scalar: Scalar, place: Place, shader: &Layout<'_>) -> Option<Text> {
    if let Some(at) = find(shader, place.path.as_str()) {
        return same_leaf(scalar, place, &leaves(shader)[at]);
    }
    Some(match place.path.len {
        0 => Text::EMPTY.and("the shader's element is a struct: pass a struct with `#[derive(Element)]`"),
        _ => Text::EMPTY
            .and("the host's struct has a field `")
            .and(place.path.as_str())
            .and("`, the shader's has none"),
    })
}

const fn same_leaf(scalar: Scalar, place: Place, shader: &Leaf<'_>) -> Option<Text> {
    if scalar.size() < 4
        && shader.scalar.same(Scalar::U32)
        && let Some(place) = place.words(scalar.size() as u32)
    {
        return same_leaf(Scalar::U32, place, shader);
    }
    if let Some(text) = offsets(&place, shader.offset) {
        return Some(text);
    }
    if scalar.same(shader.scalar) && same_dims(&place, dims(shader)) {
        return None;
    }
    if place.deep > DEEP {
        return Some(named(&place.path).and("in more than ").number(DEEP as u32).and(" arrays: use fewer"));
    }
    let columns = dims(shader);
    let host = block(scalar, place.dims.split_at(min(place.deep, DEEP)).0);
    let what = named(&place.path)
        .and(host.as_str())
        .and(" on the host and ")
        .and(block(shader.scalar, columns).as_str())
        .and(" in the shader");
    let of_three = columns.len() > 1 && columns[columns.len() - 1].len == 3;
    Some(if of_three { what.and(FOURTH) } else { what })
}

const fn offsets(place: &Place, shader: u32) -> Option<Text> {
    let host = place.offset;
    let text = Text::EMPTY
        .and("`")
        .and(place.path.as_str())
        .and("` lies at byte ")
        .number(host)
        .and(" on the host and at byte ");
    let text = text.number(shader).and(" in the shader");
    if host == shader {
        None
    } else if host < shader {
        Some(text.and(": add ").padding(shader - host).and(" before it"))
    } else {
        Some(
            text.and(": add ")
                .number(host - shader)
                .and(" bytes of padding before it there, or take them away on the host"),
        )
    }
}

/// Advice to add a fourth number: WGSL aligns a vector of three like a vector of four.
const FOURTH: &str = ": give each vector of three a fourth number, which the shader ignores";

/// Compares dimensions. A vector of four on the host matches a vector of three if the fourth element is unused.
const fn same_dims(place: &Place, shader: &[Dim]) -> bool {
    if place.deep != shader.len() || place.deep > place.dims.len() {
        return false;
    }
    let mut at = 0;
    while at < shader.len() {
        let host = place.dims[at];
        let last = at + 1 == shader.len();
        let same = host.len == shader[at].len || (last && host.len == 4 && shader[at].len == 3);
        if !same || host.stride != shader[at].stride {
            return false;
        }
        at += 1;
    }
    true
}

const fn has(host: &DType, so_far: Text, wanted: &str) -> bool {
    match host {
        DType::Scalar(_) => equal(so_far.as_str(), wanted),
        DType::Array(of, _) => has(of, so_far, wanted),
        DType::Struct(StructType { fields, .. }) => {
            let mut at = 0;
            while at < fields.len() {
                if has(&fields[at].dtype, joined(so_far, fields[at].name), wanted) {
                    return true;
                }
                at += 1;
            }
            false
        }
    }
}

/// Returns `true` if the name of a member, or of a struct around it, begins with `_`.
const fn is_padding(path: &str) -> bool {
    let bytes = path.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'_' && (at == 0 || bytes[at - 1] == b'.') {
            return true;
        }
        at += 1;
    }
    false
}

/// Returns `` `velocity` is ``, or `it is`.
const fn named(path: &Text) -> Text {
    if path.len == 0 {
        Text::EMPTY.and("it is ")
    } else {
        Text::EMPTY.and("`").and(path.as_str()).and("` is ")
    }
}

/// Returns `f32`, `4 f32`, or `4 blocks of 16 bytes, each 3 f32`.
const fn block(scalar: Scalar, dims: &[Dim]) -> Text {
    let mut text = Text::EMPTY;
    let mut at = 0;
    while at < dims.len() {
        text = text.number(dims[at].len);
        text = if at + 1 < dims.len() {
            text.and(" blocks of ").number(dims[at].stride).and(" bytes, each ")
        } else {
            text.and(" ")
        };
        at += 1;
    }
    text.and(scalar.name())
}

const fn leaves<'a>(layout: &'a Layout<'_>) -> &'a [Leaf<'a>] {
    match &layout.leaves {
        Cow::Borrowed(leaves) => leaves,
        Cow::Owned(leaves) => leaves.as_slice(),
    }
}

const fn dims<'a>(leaf: &'a Leaf<'_>) -> &'a [Dim] {
    match &leaf.dims {
        Cow::Borrowed(dims) => dims,
        Cow::Owned(dims) => dims.as_slice(),
    }
}

const fn path<'a>(leaf: &'a Leaf<'_>) -> &'a str {
    match &leaf.path {
        Cow::Borrowed(path) => path,
        Cow::Owned(path) => path.as_str(),
    }
}

const fn equal(a: &str, b: &str) -> bool {
    let a = a.as_bytes();
    let b = b.as_bytes();
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// A short string that can be built in constants; text that does not fit is cut off.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; ROOM],
    len: usize,
}

const ROOM: usize = 640;

impl Text {
    /// The empty text.
    pub const EMPTY: Self = Self { bytes: [0; ROOM], len: 0 };

    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    /// Appends `more`.
    pub const fn and(mut self, more: &str) -> Self {
        let more = more.as_bytes();
        if self.len + more.len() > ROOM {
            return self;
        }
        let mut at = 0;
        while at < more.len() {
            self.bytes[self.len + at] = more[at];
            at += 1;
        }
        self.len += more.len();
        self
    }

    const fn number(self, number: u32) -> Self {
        let text = if number < 10 { self } else { self.number(number / 10) };
        let digit = [b'0' + (number % 10) as u8];
        match std::str::from_utf8(&digit) {
            Ok(digit) => text.and(digit),
            Err(_) => text,
        }
    }

    const fn padding(self, bytes: u32) -> Self {
        self.number(bytes).and(" bytes of padding, `_padding: [u8; ").number(bytes).and("]`,")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FieldType;

    const F32: DType = DType::Scalar(Scalar::F32);
    const VEC3: DType = DType::Array(&F32, 3);

    const fn field(name: &'static str, offset: usize, dtype: DType) -> FieldType {
        FieldType { name, offset, dtype }
    }

    static PARTICLE: [FieldType; 2] = [field("position", 0, VEC3), field("velocity", 12, VEC3)];
    const TIGHT: DType = DType::Struct(&StructType { name: "Particle", size: 24, fields: &PARTICLE });

    fn leaf_at(path: &str, offset: u32, len: u32) -> Leaf<'static> {
        let dims = if len == 1 { vec![] } else { vec![Dim { len, stride: 4 }] };
        Leaf { path: path.to_string().into(), offset, scalar: Scalar::F32, dims: dims.into() }
    }

    fn layout(size: u32, leaves: Vec<Leaf<'static>>) -> Layout<'static> {
        Layout { size, leaves: leaves.into() }
    }

    fn told(host: &DType, shader: &Layout<'_>) -> String {
        buffer_mismatch(host, Some(shader)).map_or_else(String::new, |text| text.as_str().into())
    }

    #[test]
    fn a_field_at_another_offset_is_reported_with_the_padding_to_add() {
        let shader = layout(32, vec![leaf_at("position", 0, 3), leaf_at("velocity", 16, 3)]);
        let text = "`velocity` lies at byte 12 on the host and at byte 16 in the shader: add 4 bytes of padding, \
                    `_padding: [u8; 4]`, before it";
        assert_eq!(told(&TIGHT, &shader), text);
    }

    #[test]
    fn a_shorter_struct_is_reported_with_the_padding_to_add() {
        let shader = layout(32, vec![leaf_at("position", 0, 3), leaf_at("velocity", 12, 3)]);
        let text = "it takes 24 bytes on the host and 32 in the shader: add 8 bytes of padding, `_padding: [u8; 8]`, at its end";
        assert_eq!(told(&TIGHT, &shader), text);
    }

    #[test]
    fn fields_in_another_order_are_reported_without_padding() {
        let shader = layout(24, vec![leaf_at("velocity", 0, 3), leaf_at("position", 12, 3)]);
        assert_eq!(
            told(&TIGHT, &shader),
            "the fields are in another order: `position` comes before `velocity` on the host and after it in the shader: use \
             one order"
        );
    }

    #[test]
    fn members_that_one_side_lacks_are_reported() {
        let one = layout(24, vec![leaf_at("position", 0, 3)]);
        assert_eq!(told(&TIGHT, &one), "the host's struct has a field `velocity`, the shader's has none");
        let three = vec![leaf_at("position", 0, 3), leaf_at("velocity", 12, 3), leaf_at("mass", 24, 1)];
        assert_eq!(
            told(&TIGHT, &layout(24, three)),
            "the shader's struct has a member `mass`, the host's has none"
        );
        let padded = vec![leaf_at("position", 0, 3), leaf_at("velocity", 12, 3), leaf_at("_mass", 24, 1)];
        assert_eq!(told(&TIGHT, &layout(24, padded)), "");
    }

    #[test]
    fn a_vector_of_another_length_is_reported() {
        let shader = layout(24, vec![leaf_at("position", 0, 2), leaf_at("velocity", 12, 3)]);
        assert_eq!(told(&TIGHT, &shader), "`position` is 3 f32 on the host and 2 f32 in the shader");
    }

    #[test]
    fn only_a_vector_of_four_agrees_with_an_element_of_sixteen_bytes() {
        let shader = layout(16, vec![leaf_at("", 0, 3)]);
        let text = format!("it takes 12 bytes on the host and 16 in the shader{FOURTH}");
        assert_eq!(told(&VEC3, &shader), text);
        assert_eq!(told(&DType::Array(&F32, 4), &shader), "");
        assert!(!told(&DType::Array(&F32, 2), &shader).is_empty());
    }

    #[test]
    fn the_columns_of_a_matrix_have_the_same_stride_on_both_sides() {
        let far = vec![Dim { len: 3, stride: 16 }, Dim { len: 3, stride: 4 }];
        let shader = layout(48, vec![Leaf { dims: far.into(), ..leaf_at("", 0, 1) }]);
        let text = format!(
            "it is 3 blocks of 12 bytes, each 3 f32 on the host and 3 blocks of 16 bytes, each 3 f32 in the shader{FOURTH}"
        );
        assert_eq!(told(&DType::Array(&VEC3, 3), &shader), text);
        assert_eq!(told(&DType::Array(&DType::Array(&F32, 4), 3), &shader), "");
    }

    #[test]
    fn arrays_agree_as_deep_as_wgsl_nests_them_and_deeper_ones_are_refused_by_that_limit() {
        let nested = |deep: usize| {
            let host = (0..deep).fold(F32, |of, _| DType::Array(Box::leak(Box::new(of)), 1));
            let dims = vec![Dim { len: 1, stride: 4 }; deep];
            told(&host, &layout(4, vec![Leaf { dims: dims.into(), ..leaf_at("", 0, 1) }]))
        };
        assert_eq!(nested(15), "");
        assert_eq!(nested(DEEP + 1), "it is in more than 17 arrays: use fewer");
    }

    #[test]
    fn small_numbers_agree_with_the_words_that_hold_them() {
        let word = |path: &str| Leaf { scalar: Scalar::U32, ..leaf_at(path, 0, 1) };
        let byte = Scalar::U8.dtype();
        for host in [*byte, DType::Array(byte, 3), DType::Array(byte, 4), *Scalar::F16.dtype()] {
            assert_eq!(told(&host, &layout(4, vec![word("")])), "", "{host}");
            let text = told(&host, &layout(8, vec![Leaf { scalar: Scalar::U64, ..word("") }]));
            assert!(!text.is_empty(), "{host}");
        }
        static COLOR: [FieldType; 1] = [field("color", 0, DType::Array(Scalar::U8.dtype(), 4))];
        let pixel = DType::Struct(Box::leak(Box::new(StructType { name: "Pixel", size: 4, fields: &COLOR })));
        assert_eq!(told(&pixel, &layout(4, vec![word("color")])), "");
        assert!(
            value_mismatch(byte, Some(&layout(4, vec![word("")]))).is_some(),
            "a parameter of one byte fills no word"
        );
    }

    #[test]
    fn a_scalar_does_not_agree_with_a_struct() {
        let shader = layout(4, vec![leaf_at("x", 0, 1)]);
        assert_eq!(
            told(&F32, &shader),
            "the shader's element is a struct: pass a struct with `#[derive(Element)]`"
        );
    }

    #[test]
    fn a_part_that_does_not_fit_is_left_out_of_the_text() {
        let long = "x".repeat(ROOM - 1);
        assert_eq!(Text::EMPTY.and(&long).and("too long").and("y").as_str().len(), ROOM);
    }
}
