"""The kinds of object stores. Each has an entry here, and two modules in `objects`: a client of its own
library, and an adapter that replaces objects by it. What else is specific to one stands there.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Store(NamedTuple):
    """A kind of store, called `title` in messages, whose objects have URLs of these `schemes`.

    opened_by: the class of obstore that reads and lists. extra: of this package, with which it is
    installed. credentials: what to do if there are none; to_read, to_write: which permissions are needed by those
    that the store knows, where its code for a refusal tells that it does. prefix: with which its options may begin.
    endpoint_options, endpoint_variables: what names another endpoint than the cloud's own, the first that is set; of
    the options, obstore heeds the last one before the others. variables: the beginnings of those that any of the
    libraries reads. files: that they read, by the variable that names each, and where it is otherwise.
    account_variables: that say whose store it is. has_folders: whether objects can be listed. has_suffix_ranges:
    whether the last bytes of an object of unknown size can be asked for.

    adapter: a module of `objects`, and its class; none if objects are only read. library: what that
    imports. unfinished: the function of that module that finds what killed replacements have left in
    the store, or else who `discards` that.
    """

    name: str
    title: str
    schemes: tuple[str, ...]
    opened_by: str
    extra: str
    credentials: str
    to_read: str = ""
    to_write: str = ""
    prefix: str = ""
    endpoint_options: tuple[str, ...] = ()
    endpoint_variables: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    account_variables: tuple[str, ...] = ()
    has_folders: bool = True
    has_suffix_ranges: bool = True
    adapter: tuple[str, str] | None = None
    library: str = ""
    unfinished: str = ""
    discards: str = ""


STORES: Final = (
    Store(
        name="s3",
        title="S3",
        schemes=("s3", "s3a", "s3n"),
        opened_by="S3Store",
        extra="s3",
        credentials="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or the storage"
        " option skip_signature=true for a public bucket",
        to_read="the permissions s3:GetObject and s3:ListBucket are needed",
        to_write="the permission s3:PutObject is needed",
        prefix="aws_",
        endpoint_options=("endpoint", "endpoint_url", "endpoint_url_s3"),
        endpoint_variables=("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        variables=("AWS_",),
        files=(
            ("AWS_CONFIG_FILE", "~/.aws/config"),
            ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        ),
        adapter=("s3_adapter", "S3Adapter"),
        library="boto3",
        unfinished="unfinished_uploads",
    ),
    Store(
        name="gs",
        title="Google Cloud Storage",
        schemes=("gs", "gcs"),
        opened_by="GCSStore",
        extra="gcs",
        credentials="set GOOGLE_APPLICATION_CREDENTIALS, or the storage option skip_signature=true for a"
        " public bucket",
        prefix="google_",
        endpoint_options=("base_url",),
        endpoint_variables=("GOOGLE_BASE_URL",),
        variables=("GOOGLE_", "SERVICE_ACCOUNT", "GCE_METADATA_"),
        files=(
            (
                "GOOGLE_APPLICATION_CREDENTIALS",
                "~/.config/gcloud/application_default_credentials.json",
            ),
            ("GOOGLE_SERVICE_ACCOUNT", ""),
            ("GOOGLE_SERVICE_ACCOUNT_PATH", ""),
            ("SERVICE_ACCOUNT", ""),
        ),
        adapter=("gcs_adapter", "GoogleAdapter"),
        library="google-auth",
        discards="Google discards them after a week",
    ),
    Store(
        name="az",
        title="Azure",
        schemes=("az", "azure", "abfs", "abfss"),
        opened_by="AzureStore",
        extra="azure",
        credentials="set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY, or the storage option"
        " skip_signature=true for a public container",
        prefix="azure_",
        endpoint_options=("endpoint", "storage_endpoint"),
        endpoint_variables=("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
        variables=("AZURE_", "AZURITE_", "IDENTITY_", "MSI_"),
        account_variables=("AZURE_STORAGE_ACCOUNT_NAME",),
        has_suffix_ranges=False,
        adapter=("azure_adapter", "AzureAdapter"),
        library="azure-storage-blob",
        unfinished="unfinished_blocks",
    ),
    Store(
        name="http",
        title="web servers",
        schemes=("http", "https"),
        opened_by="HTTPStore",
        extra="s3",
        credentials="expected a URL that needs no password, or a signed one",
        has_folders=False,
    ),
)

# By the schemes of URLs, in lower case.
STORE_BY_SCHEME: Final = {scheme: store for store in STORES for scheme in store.schemes}
