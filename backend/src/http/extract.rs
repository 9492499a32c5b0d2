//! Axum's extractors with this interface's errors: its own would answer in plain text, and without cache headers.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request;
use serde::de::DeserializeOwned;

use super::error::HttpError;

/// The variable steps of a route's path.
#[derive(Clone, Debug)]
pub struct Steps<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Steps<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Self, HttpError> {
        let path = Path::from_request_parts(parts, state).await;
        path.map(|Path(steps)| Self(steps)).map_err(|error| refuse(&error.body_text()))
    }
}

/// The parameters behind the question mark.
#[derive(Clone, Debug)]
pub struct Parameters<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Parameters<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Self, HttpError> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(parameters)| Self(parameters)).map_err(|error| refuse(&error.body_text()))
    }
}

fn refuse(text: &str) -> HttpError {
    HttpError::bad_request(text.chars().take(200).collect::<String>())
}
