// Functions of f64 that drivers support only for f32.

// Exponent of a positive number, which is between 1 and 2 times 2 to the exponent.
fn exponent_f64(x: f64) -> i32 {
    var m = x;
    var e = 0;
    if m < 1.0261342003245941e-289lf { m *= 1.8446744073709552e+19lf; e -= 64; }
    if m >= 1.3407807929942597e+154lf { m *= 7.458340731200207e-155lf; e += 512; }
    if m >= 1.157920892373162e+77lf { m *= 8.636168555094445e-78lf; e += 256; }
    if m >= 3.402823669209385e+38lf { m *= 2.938735877055719e-39lf; e += 128; }
    if m >= 1.8446744073709552e+19lf { m *= 5.421010862427522e-20lf; e += 64; }
    if m >= 4294967296.0lf { m *= 2.3283064365386963e-10lf; e += 32; }
    if m >= 65536.0lf { m *= 1.52587890625e-05lf; e += 16; }
    if m >= 256.0lf { m *= 0.00390625lf; e += 8; }
    if m >= 16.0lf { m *= 0.0625lf; e += 4; }
    if m >= 4.0lf { m *= 0.25lf; e += 2; }
    if m >= 2.0lf { m *= 0.5lf; e += 1; }
    if m < 1.4916681462400413e-154lf { m *= 1.3407807929942597e+154lf; e -= 512; }
    if m < 1.727233711018889e-77lf { m *= 1.157920892373162e+77lf; e -= 256; }
    if m < 5.877471754111438e-39lf { m *= 3.402823669209385e+38lf; e -= 128; }
    if m < 1.0842021724855044e-19lf { m *= 1.8446744073709552e+19lf; e -= 64; }
    if m < 4.656612873077393e-10lf { m *= 4294967296.0lf; e -= 32; }
    if m < 3.0517578125e-05lf { m *= 65536.0lf; e -= 16; }
    if m < 0.0078125lf { m *= 256.0lf; e -= 8; }
    if m < 0.125lf { m *= 16.0lf; e -= 4; }
    if m < 0.5lf { m *= 4.0lf; e -= 2; }
    if m < 1.0lf { m *= 2.0lf; e -= 1; }
    return e;
}

// The number times a power of 2, in two steps, because the power itself may be too large or too small.
fn scaled_f64(x: f64, e: i32) -> f64 {
    let half = e / 2;
    return ldexp(ldexp(x, half), e - half);
}

// 1 / n! for each n.
const OVER_FACTORIAL = array(
    1.0lf,
    1.0lf,
    0.5lf,
    0.16666666666666666lf,
    0.041666666666666664lf,
    0.008333333333333333lf,
    0.001388888888888889lf,
    0.0001984126984126984lf,
    2.48015873015873e-05lf,
    2.7557319223985893e-06lf,
    2.755731922398589e-07lf,
    2.505210838544172e-08lf,
    2.08767569878681e-09lf,
    1.6059043836821613e-10lf,
    1.1470745597729725e-11lf,
    7.647163731819816e-13lf,
    4.779477332387385e-14lf,
    2.8114572543455206e-15lf,
    1.5619206968586225e-16lf,
    8.22063524662433e-18lf,
);

// exp(r) of a number between -0.35 and 0.35.
fn small_exp_f64(r: f64) -> f64 {
    var p = OVER_FACTORIAL[14];
    p = p * r + OVER_FACTORIAL[13];
    p = p * r + OVER_FACTORIAL[12];
    p = p * r + OVER_FACTORIAL[11];
    p = p * r + OVER_FACTORIAL[10];
    p = p * r + OVER_FACTORIAL[9];
    p = p * r + OVER_FACTORIAL[8];
    p = p * r + OVER_FACTORIAL[7];
    p = p * r + OVER_FACTORIAL[6];
    p = p * r + OVER_FACTORIAL[5];
    p = p * r + OVER_FACTORIAL[4];
    p = p * r + OVER_FACTORIAL[3];
    p = p * r + OVER_FACTORIAL[2];
    p = p * r + OVER_FACTORIAL[1];
    p = p * r + OVER_FACTORIAL[0];
    return p;
}

fn exp_f64(x: f64) -> f64 {
    if x != x { return x; }
    let c = clamp(x, -800.0lf, 800.0lf);
    let n = round(c * 1.4426950408889634lf);
    let r = (c - n * 0.6931471804855391lf) - n * 7.440617110012397e-11lf;
    return scaled_f64(small_exp_f64(r), i32(n));
}

fn exp2_f64(x: f64) -> f64 {
    if x != x { return x; }
    let c = clamp(x, -1200.0lf, 1200.0lf);
    let n = round(c);
    return scaled_f64(small_exp_f64((c - n) * 0.6931471805599453lf), i32(n));
}

// log((1 + s) / (1 - s)) of a number between -0.18 and 0.18.
fn log_of_quotient_f64(s: f64) -> f64 {
    let z = s * s;
    var p = 0.04lf;
    p = p * z + 0.043478260869565216lf;
    p = p * z + 0.047619047619047616lf;
    p = p * z + 0.05263157894736842lf;
    p = p * z + 0.058823529411764705lf;
    p = p * z + 0.06666666666666667lf;
    p = p * z + 0.07692307692307693lf;
    p = p * z + 0.09090909090909091lf;
    p = p * z + 0.1111111111111111lf;
    p = p * z + 0.14285714285714285lf;
    p = p * z + 0.2lf;
    p = p * z + 0.3333333333333333lf;
    return 2.0lf * s + 2.0lf * s * (z * p);
}

// log(m) of a number between 0.7 and 1.42.
fn small_log_f64(m: f64) -> f64 {
    return log_of_quotient_f64((m - 1.0lf) / (m + 1.0lf));
}

// Exponent e such that the number divided by 2^e is between 0.7 and 1.42.
fn near_exponent_f64(x: f64) -> i32 {
    let e = exponent_f64(x);
    return e + i32(scaled_f64(x, -e) > 1.4142135623730951lf);
}

fn log_f64(x: f64) -> f64 {
    if x == 0.0lf { return -1.0lf / abs(x); }
    if !(x > 0.0lf) { return (x - x) / (x - x); }
    if x > 1.7976931348623157e308lf { return x; }
    let e = near_exponent_f64(x);
    let n = f64(e);
    return n * 0.6931471804855391lf + (n * 7.440617110012397e-11lf + small_log_f64(scaled_f64(x, -e)));
}

fn log2_f64(x: f64) -> f64 {
    if !(x > 0.0lf) { return log_f64(x); }
    if x > 1.7976931348623157e308lf { return x; }
    let e = near_exponent_f64(x);
    return f64(e) + small_log_f64(scaled_f64(x, -e)) * 1.4426950408889634lf;
}

// The product with the exponent is kept in two parts, because its fraction must be accurate.
fn pow_f64(x: f64, y: f64) -> f64 {
    if y == 0.0lf || x == 1.0lf { return 1.0lf; }
    if !(x > 0.0lf) || x > 1.7976931348623157e308lf { return exp2_f64(y * log2_f64(x)); }
    let e = near_exponent_f64(x);
    let l = small_log_f64(scaled_f64(x, -e)) * 1.4426950408889634lf;
    let product = y * f64(e);
    let rest = fma(y, f64(e), -product);
    let sum = product + y * l;
    if !(abs(sum) < 1100.0lf) { return exp2_f64(sum); }
    let n = round(sum);
    let r = ((product - n) + y * l) + rest;
    return scaled_f64(small_exp_f64(r * 0.6931471805599453lf), i32(n));
}

// Reduction of a large number modulo pi / 2: the remainder times 2 / pi, and the quadrant. The number and 2 / pi are
// split into digits of 24 bits.
fn large_quadrants_f64(x: f64) -> vec2<f64> {
    var digits = array<f64, 50>(
        10680707.0lf, 7228996.0lf, 1387004.0lf, 2578385.0lf, 16069853.0lf, 12639074.0lf, 9804092.0lf, 4427841.0lf,
        16666979.0lf, 11263675.0lf, 12935607.0lf, 2387514.0lf, 4345298.0lf, 14681673.0lf, 3074569.0lf, 13734428.0lf,
        16653803.0lf, 1880361.0lf, 10960616.0lf, 8533493.0lf, 3062596.0lf, 8710556.0lf, 7349940.0lf, 6258241.0lf,
        3772886.0lf, 3769171.0lf, 3798172.0lf, 8675211.0lf, 12450088.0lf, 3874808.0lf, 9961438.0lf, 366607.0lf,
        15675153.0lf, 9132554.0lf, 7151469.0lf, 3571407.0lf, 2607881.0lf, 12013382.0lf, 4155038.0lf, 6285869.0lf,
        7677882.0lf, 13102053.0lf, 15825725.0lf, 473591.0lf, 9065106.0lf, 15363067.0lf, 6271263.0lf, 9264392.0lf,
        5636912.0lf, 4652155.0lf
    );
    let e = exponent_f64(x) - 23;
    var z = scaled_f64(x, -e);
    var d = vec3<f64>();
    d.x = floor(z);
    z = (z - d.x) * 16777216.0lf;
    d.y = floor(z);
    d.z = (z - d.y) * 16777216.0lf;
    // Skips the digits whose products are multiples of 8: they do not change the quadrant.
    let first = max(0, (e - 3) / 24);
    var high = 0.0lf;
    var low = 0.0lf;
    var quadrant = 0.0lf;
    for (var q = first; q < first + 8; q++) {
        var c = d.x * digits[min(q, 49)];
        if q >= 1 { c += d.y * digits[min(q - 1, 49)]; }
        if q >= 2 { c += d.z * digits[min(q - 2, 49)]; }
        var v = ldexp(c, e - 24 * (q + 1));
        v -= 8.0lf * floor(v * 0.125lf);
        // The sum of both parts is exact to the last bit of the second.
        let sum = high + v;
        let back = sum - high;
        low += (high - (sum - back)) + (v - back);
        let n = round(sum);
        quadrant += n;
        high = sum - n;
    }
    let n = round(high + low);
    return vec2((high - n) + low, quadrant + n);
}

// The remainder of a number modulo pi / 2, and the quadrant from 0 to 3.
fn quadrants_f64(x: f64) -> vec2<f64> {
    var r = x;
    var n = 0.0lf;
    if abs(x) < 1000000.0lf {
        n = round(x * 0.6366197723675814lf);
        r = ((x - n * 1.5707963267341256lf) - n * 6.077100506303966e-11lf) - n * 2.0222662487959506e-21lf;
    } else if abs(x) <= 1.7976931348623157e308lf {
        let found = large_quadrants_f64(abs(x));
        let s = sign(x);
        r = s * (found.x * 1.5707963267948966lf);
        n = s * found.y;
    } else {
        r = x - x;
    }
    return vec2(r, n - 4.0lf * floor(n * 0.25lf));
}

fn small_sin_f64(r: f64) -> f64 {
    let z = r * r;
    var p = 1.58969099521155010221e-10lf;
    p = p * z - 2.50507602534068634195e-08lf;
    p = p * z + 2.75573137070700676789e-06lf;
    p = p * z - 1.98412698298579493134e-04lf;
    p = p * z + 8.33333333332248946124e-03lf;
    p = p * z - 1.66666666666666324348e-01lf;
    return r + r * (z * p);
}

fn small_cos_f64(r: f64) -> f64 {
    let z = r * r;
    var p = -1.13596475577881948265e-11lf;
    p = p * z + 2.08757232129817482790e-09lf;
    p = p * z - 2.75573143513906633035e-07lf;
    p = p * z + 2.48015872894767294178e-05lf;
    p = p * z - 1.38888888888741095749e-03lf;
    p = p * z + 4.16666666666666019037e-02lf;
    let half = 0.5lf * z;
    let w = 1.0lf - half;
    return w + ((1.0lf - w) - half + z * z * p);
}

fn turned_f64(r: f64, quadrant: f64) -> f64 {
    let is_cos = quadrant == 1.0lf || quadrant == 3.0lf;
    let value = select(small_sin_f64(r), small_cos_f64(r), is_cos);
    return select(value, -value, quadrant >= 2.0lf);
}

fn sin_f64(x: f64) -> f64 {
    let found = quadrants_f64(x);
    return turned_f64(found.x, found.y);
}

fn cos_f64(x: f64) -> f64 {
    let found = quadrants_f64(x);
    return turned_f64(found.x, select(found.y + 1.0lf, 0.0lf, found.y == 3.0lf));
}

fn tan_f64(x: f64) -> f64 {
    let found = quadrants_f64(x);
    let s = small_sin_f64(found.x);
    let c = small_cos_f64(found.x);
    let is_turned = found.y == 1.0lf || found.y == 3.0lf;
    return select(s, -c, is_turned) / select(c, s, is_turned);
}

fn atan_f64(x: f64) -> f64 {
    let a = abs(x);
    let is_above = a > 1.0lf;
    let t = select(a, 1.0lf / a, is_above);
    let is_middle = t > 0.41421356237309503lf;
    let u = select(t, (t - 1.0lf) / (t + 1.0lf), is_middle);
    let z = u * u;
    var p = 1.62858201153657823623e-02lf;
    p = p * z - 3.65315727442169155270e-02lf;
    p = p * z + 4.97687799461593236017e-02lf;
    p = p * z - 5.83357013379057348645e-02lf;
    p = p * z + 6.66107313738753120669e-02lf;
    p = p * z - 7.69187620504482999495e-02lf;
    p = p * z + 9.09088713343650656196e-02lf;
    p = p * z - 1.11111104054623557880e-01lf;
    p = p * z + 1.42857142725034663711e-01lf;
    p = p * z - 1.99999999998764832476e-01lf;
    p = p * z + 3.33333333333329318027e-01lf;
    var r = u - u * (z * p);
    r = select(r, 0.7853981633974483lf + (r + 3.061616997868383e-17lf), is_middle);
    r = select(r, 1.5707963267948966lf - (r - 6.123233995736766e-17lf), is_above);
    return select(r, -r, x < 0.0lf);
}

fn atan2_f64(y: f64, x: f64) -> f64 {
    if y == 0.0lf && x == 0.0lf { return y; }
    let a = atan_f64(abs(y) / abs(x));
    let r = select(a, 3.141592653589793lf - (a - 1.2246467991473532e-16lf), x < 0.0lf);
    return select(r, -r, y < 0.0lf);
}

fn asin_f64(x: f64) -> f64 {
    return atan2_f64(x, sqrt((1.0lf - x) * (1.0lf + x)));
}

fn acos_f64(x: f64) -> f64 {
    return atan2_f64(sqrt((1.0lf - x) * (1.0lf + x)), x);
}

// sinh(x) of a number between -1 and 1.
fn small_sinh_f64(x: f64) -> f64 {
    let z = x * x;
    var p = OVER_FACTORIAL[19];
    p = p * z + OVER_FACTORIAL[17];
    p = p * z + OVER_FACTORIAL[15];
    p = p * z + OVER_FACTORIAL[13];
    p = p * z + OVER_FACTORIAL[11];
    p = p * z + OVER_FACTORIAL[9];
    p = p * z + OVER_FACTORIAL[7];
    p = p * z + OVER_FACTORIAL[5];
    p = p * z + OVER_FACTORIAL[3];
    return x + x * (z * p);
}

// Half of exp(x), which may be finite where exp(x) is not.
fn half_exp_f64(x: f64) -> f64 {
    if x < 709.0lf { return 0.5lf * exp_f64(x); }
    let root = exp_f64(0.5lf * x);
    return 0.5lf * root * root;
}

fn sinh_f64(x: f64) -> f64 {
    let a = abs(x);
    if !(a >= 1.0lf) { return small_sinh_f64(x); }
    let half = half_exp_f64(a);
    let r = half - 0.25lf / half;
    return select(r, -r, x < 0.0lf);
}

fn cosh_f64(x: f64) -> f64 {
    let half = half_exp_f64(abs(x));
    return half + 0.25lf / half;
}

fn tanh_f64(x: f64) -> f64 {
    let a = abs(x);
    if !(a >= 1.0lf) { return small_sinh_f64(x) / cosh_f64(x); }
    let r = 1.0lf - 2.0lf / (exp_f64(2.0lf * min(a, 40.0lf)) + 1.0lf);
    return select(r, -r, x < 0.0lf);
}

// log(1 + x). Drivers simplify sums, so a rounding error cannot be recovered by subtracting.
fn log1p_f64(x: f64) -> f64 {
    if abs(x) < 0.29lf { return log_of_quotient_f64(x / (2.0lf + x)); }
    return log_f64(1.0lf + x);
}

fn asinh_f64(x: f64) -> f64 {
    let a = abs(x);
    var r = 0.0lf;
    if a > 1.0e9lf {
        r = log_f64(a) + 0.6931471805599453lf;
    } else {
        r = log1p_f64(a + a * a / (1.0lf + sqrt(a * a + 1.0lf)));
    }
    return select(r, -r, x < 0.0lf);
}

fn acosh_f64(x: f64) -> f64 {
    if x > 1.0e9lf { return log_f64(x) + 0.6931471805599453lf; }
    let t = x - 1.0lf;
    return log1p_f64(t + sqrt(2.0lf * t + t * t));
}

fn atanh_f64(x: f64) -> f64 {
    let a = abs(x);
    let r = 0.5lf * log1p_f64(2.0lf * a / (1.0lf - a));
    return select(r, -r, x < 0.0lf);
}

fn degrees_f64(x: f64) -> f64 {
    return x * 57.29577951308232lf;
}

fn radians_f64(x: f64) -> f64 {
    return x * 0.017453292519943295lf;
}
