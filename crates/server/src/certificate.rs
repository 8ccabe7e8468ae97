//! What binds an authentication to a certificate: `tls-server-end-point` of RFC 5929, the certificate's hash by the algorithm that its
//! signature has.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const OBJECT: u8 = 0x06;
/// The first, explicit field of the parameters of RSASSA-PSS: its hash.
const FIRST: u8 = 0xA0;

const RSA: &[u8] = b"\x2A\x86\x48\x86\xF7\x0D\x01\x01";
const RSA_PSS: u8 = 10;
const ECDSA: &[u8] = b"\x2A\x86\x48\xCE\x3D\x04";
const SHA2: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x02";

/// `None`: the signature has no hash of its own (Ed25519), or is not known; no binding is offered then.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (whole, _) = element(certificate, SEQUENCE)?;
    let (_, behind) = element(whole, SEQUENCE)?;
    let (algorithm, _) = element(behind, SEQUENCE)?;
    Some(match hash_of(algorithm)? {
        224 => Sha224::digest(certificate).to_vec(),
        256 => Sha256::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        _ => Sha512::digest(certificate).to_vec(),
    })
}

/// The bits of a signature's hash; of MD5 and SHA-1 the standard makes SHA-256.
fn hash_of(algorithm: &[u8]) -> Option<u32> {
    let (name, parameters) = element(algorithm, OBJECT)?;
    if let Some(&[which]) = name.strip_prefix(RSA) {
        return match which {
            4 | 5 | 11 => Some(256),
            12 => Some(384),
            13 => Some(512),
            14 => Some(224),
            RSA_PSS => hash_of_pss(parameters),
            _ => None,
        };
    }
    match name.strip_prefix(ECDSA)? {
        [1] | [3, 2] => Some(256),
        [3, 1] => Some(224),
        [3, 3] => Some(384),
        [3, 4] => Some(512),
        _ => None,
    }
}

fn hash_of_pss(parameters: &[u8]) -> Option<u32> {
    let (fields, _) = element(parameters, SEQUENCE)?;
    // What is not said is SHA-1.
    let Some((hash, _)) = element(fields, FIRST) else { return Some(256) };
    let (hash, _) = element(hash, SEQUENCE)?;
    let (name, _) = element(hash, OBJECT)?;
    match name.strip_prefix(SHA2) {
        Some([2]) => Some(384),
        Some([3]) => Some(512),
        Some([4]) => Some(224),
        _ => Some(256),
    }
}

/// An element of DER that has this tag, and what is behind it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&own, rest) = bytes.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = match short {
        0..=0x7F => (usize::from(short), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(short & 0x7F))?;
            (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    if own == tag { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands for a certificate that is signed so.
    fn signed(algorithm: &[u8]) -> Vec<u8> {
        let wrapped = |tag: u8, inner: &[u8]| [&[tag, inner.len() as u8], inner].concat();
        let inner = [wrapped(SEQUENCE, b"whatever"), wrapped(SEQUENCE, algorithm), b"\x03\x01\x00".to_vec()].concat();
        wrapped(SEQUENCE, &inner)
    }

    #[test]
    fn the_hash_is_the_signatures_and_of_one_that_is_broken_or_not_said_sha_256() {
        let bits = |algorithm: &[u8]| end_point(&signed(algorithm)).map(|hash| hash.len() * 8);
        let rsa = |which: u8| bits(&[b"\x06\x09", RSA, &[which], b"\x05\x00"].concat());
        assert_eq!([4, 5, 11, 12, 13, 14].map(rsa), [256, 256, 256, 384, 512, 224].map(Some));
        let ecdsa = |which: u8| bits(&[b"\x06\x08", ECDSA, &[3, which]].concat());
        assert_eq!([1, 2, 3, 4].map(ecdsa), [224, 256, 384, 512].map(Some));
        let pss = |parameters: &[u8]| bits(&[b"\x06\x09", RSA, &[RSA_PSS], parameters].concat());
        assert_eq!(pss(b"\x30\x00"), Some(256));
        let hash = [b"\x30\x0F\xA0\x0D\x30\x0B\x06\x09", SHA2, b"\x02"].concat();
        assert_eq!(pss(&hash), Some(384));
        assert_eq!(bits(b"\x06\x03\x2B\x65\x70"), None);
    }

    #[test]
    fn what_is_no_certificate_binds_nothing() {
        let whole = signed(&[b"\x06\x08", ECDSA, &[3, 2]].concat());
        for end in 0..whole.len() - 3 {
            assert_eq!(end_point(&whole[..end]), None);
        }
        assert_eq!(end_point(b"\x30\x84\xFF\xFF\xFF\xFF"), None);
    }
}
