/** What docs/configuration.md describes. */
export type SettingName =
  | 'DB_URL'
  | 'DB_URL_FILE'
  | 'DB_CONNECTIONS'
  | 'DB_CONNECTION_MAX_AGE'
  | 'STORE_TIMEOUT'
  | 'SECRET_TOKEN'
  | 'SECRET_TOKEN_FILE'
  | 'USERNAME'
  | 'PASSWORD'
  | 'PASSWORD_FILE'
  | 'PORT'
  | 'HOST'
  | 'THREADS'
  | 'LOG_LEVEL'
  | 'LOGIN_FAILURE_LIMIT'
  | 'TRUST_PROXY'
  | 'CORS_ORIGIN'
  | 'IMPORT_LIMIT'
  | 'METRICS_PORT'

/** Values as in the environment. A setting that is absent or undefined has its default. */
export type Settings = { readonly [Name in SettingName]?: string | number | boolean | undefined }
