//! Redirections to the same server (RFC 9110, 15.4), which are followed if the workload says so.

use hindmost_plan::{Http, HttpRequest, Plan};
use httparse::Header;

/// Longest path that is followed, in bytes.
pub const LONGEST_PATH: usize = 2048;

/// Why a redirection is an error. Its number is the code under which such replies are counted, behind those of failed
/// checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFollowed {
    /// It leads to another server.
    OtherHost = 40,
    /// Its `Location` is missing, too long, or has no absolute path.
    NoPath,
    /// The request has a body that would have to be sent again.
    Method,
    /// The request was redirected too often.
    TooMany,
    /// Its connection closes or has no space, and no other one is open.
    NoConnection,
}

impl NotFollowed {
    const ALL: [Self; 5] = [Self::OtherHost, Self::NoPath, Self::Method, Self::TooMany, Self::NoConnection];

    /// Return the name in results of `code`, or `None` for other codes.
    pub fn name(code: u16) -> Option<&'static str> {
        let why = Self::ALL.into_iter().find(|&why| why as u16 == code)?;
        Some(match why {
            Self::OtherHost => "redirect to another host",
            Self::NoPath => "redirect without a path",
            Self::Method => "redirect of a request with a body",
            Self::TooMany => "too many redirects",
            Self::NoConnection => "redirect on a closing connection",
        })
    }
}

/// How to follow redirections of one kind of request.
pub struct Redirects {
    /// GET and HEAD keep their method; others become GET if the status code says so.
    method: Method,
    /// Origins of this server, such as `http://host:80`.
    origins: Vec<String>,
}

enum Method {
    Safe,
    Post,
    Other,
}

/// The target of the arriving reply of one connection.
#[derive(Debug, Default)]
pub struct Target {
    /// Path of a redirection. Never grows beyond its initial capacity.
    pub path: Vec<u8>,
    /// Why it cannot be followed.
    pub refused: Option<NotFollowed>,
}

/// Whether a reply with this code redirects.
pub fn is_redirect(code: u16) -> bool {
    matches!(code, 301 | 302 | 303 | 307 | 308)
}

impl Redirects {
    /// Compile the redirections of `request`, or return `None` if they are not followed.
    pub fn new(request: Option<&HttpRequest>, http: &Http, plan: &Plan) -> Option<Self> {
        http.follow?;
        let method = match request.map_or("GET", |one| one.method.as_str()) {
            "GET" | "HEAD" => Method::Safe,
            "POST" => Method::Post,
            _ => Method::Other,
        };
        let (scheme, port) = if plan.target.tls.is_some() { ("https", ":443") } else { ("http", ":80") };
        let headers = request.into_iter().flat_map(|one| &one.headers).chain(&http.headers);
        let hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, value)| value);
        let mut origins = Vec::new();
        for host in hosts.chain(&http.host).chain([&plan.target.address]) {
            let host = host.strip_suffix(port).unwrap_or(host);
            origins.push(format!("{scheme}://{host}"));
            origins.push(format!("{scheme}://{host}{port}"));
        }
        Some(Self { method, origins })
    }

    /// Store where a reply with a redirecting `code` and these headers leads to.
    pub fn begin(&self, target: &mut Target, code: u16, headers: &[Header]) {
        target.path.clear();
        target.refused = None;
        let location = headers.iter().find(|one| one.name.eq_ignore_ascii_case("location"));
        match self.path(code, location.map_or(&b""[..], |header| header.value.trim_ascii())) {
            Ok(path) if path.len() < LONGEST_PATH => {
                if !path.starts_with(b"/") {
                    target.path.push(b'/');
                }
                target.path.extend_from_slice(path);
            }
            Ok(_) => target.refused = Some(NotFollowed::NoPath),
            Err(why) => target.refused = Some(why),
        }
    }

    /// Return the path, with the query, that `location` leads to.
    fn path<'a>(&self, code: u16, location: &'a [u8]) -> Result<&'a [u8], NotFollowed> {
        if !matches!((&self.method, code), (Method::Safe, _) | (_, 303) | (Method::Post, 301 | 302)) {
            return Err(NotFollowed::Method);
        }
        let location = location.split(|&byte| byte == b'#').next().unwrap_or_default();
        if location.is_empty() || !location.iter().all(u8::is_ascii_graphic) {
            return Err(NotFollowed::NoPath);
        }
        if location[0] == b'/' && location.get(1) != Some(&b'/') {
            return Ok(location);
        }
        let start = location.windows(2).position(|two| two == b"//").ok_or(NotFollowed::NoPath)? + 2;
        if start > 2 && location[start - 3] != b':' {
            return Err(NotFollowed::NoPath);
        }
        let end = location[start..].iter().position(|byte| b"/?".contains(byte));
        let (origin, path) = location.split_at(end.map_or(location.len(), |end| start + end));
        // `//host/path` keeps the scheme.
        let is_own = |own: &String| {
            let own = if start == 2 { &own[own.find("//").unwrap_or(0)..] } else { own.as_str() };
            own.as_bytes().eq_ignore_ascii_case(origin)
        };
        if self.origins.iter().any(is_own) {
            Ok(path)
        } else {
            Err(NotFollowed::OtherHost)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::plan;
    use super::*;

    fn target(method: &str, code: u16, location: Option<&str>) -> Result<String, NotFollowed> {
        let mut plan = plan("http");
        plan.target.address = "shop:80".to_owned();
        let http = Http { follow: Some(1), host: Some("Shop.example".to_owned()), ..Http::default() };
        let request = HttpRequest { method: method.to_owned(), ..HttpRequest::default() };
        let redirects = Redirects::new(Some(&request), &http, &plan).unwrap();
        let value = location.unwrap_or_default().as_bytes();
        let headers = [Header { name: "location", value }];
        let mut target = Target { path: Vec::with_capacity(LONGEST_PATH), refused: None };
        redirects.begin(&mut target, code, &headers[..usize::from(location.is_some())]);
        assert!(target.path.capacity() == LONGEST_PATH);
        target.refused.map_or(Ok(String::from_utf8(target.path).unwrap()), Err)
    }

    #[test]
    fn only_paths_of_the_same_server_are_followed() {
        for (location, expected) in [
            ("/a?b=c#d", Ok("/a?b=c")),
            ("http://shop/a", Ok("/a")),
            ("http://shop:80/a", Ok("/a")),
            ("HTTP://SHOP.EXAMPLE", Ok("/")),
            ("http://shop.example:80?x", Ok("/?x")),
            ("//shop/b//c", Ok("/b//c")),
            ("https://shop/a", Err(NotFollowed::OtherHost)),
            ("http://shop:8080/a", Err(NotFollowed::OtherHost)),
            ("//other/a", Err(NotFollowed::OtherHost)),
            ("a/b", Err(NotFollowed::NoPath)),
            ("a//b", Err(NotFollowed::NoPath)),
            ("/a b", Err(NotFollowed::NoPath)),
            ("#top", Err(NotFollowed::NoPath)),
        ] {
            assert_eq!(target("GET", 302, Some(location)), expected.map(str::to_owned), "{location}");
        }
        assert_eq!(target("GET", 302, None), Err(NotFollowed::NoPath));
        assert_eq!(
            target("GET", 302, Some(&format!("/{}", "a".repeat(LONGEST_PATH)))),
            Err(NotFollowed::NoPath)
        );
    }

    #[test]
    fn a_body_is_never_sent_again() {
        for (method, followed) in [
            ("GET", &[301, 302, 303, 307, 308][..]),
            ("HEAD", &[301, 302, 303, 307, 308]),
            ("POST", &[301, 302, 303]),
            ("PUT", &[303]),
        ] {
            for code in [301, 302, 303, 307, 308] {
                let expected =
                    if followed.contains(&code) { Ok("/a".to_owned()) } else { Err(NotFollowed::Method) };
                assert_eq!(target(method, code, Some("/a")), expected, "{method} {code}");
            }
        }
    }
}
