import { askOtherTabs, beginSession, startSession } from './session.js'

/** @typedef {{ url: string, ok: boolean, headers: { date?: string }, obj?: { data: { token: string } } }} LoginResponse */
/** @typedef {{ logout(schemes: string[]): void }} AuthActions */
/** @typedef {{ preauthorizeApiKey(scheme: string, key: string): void, authActions: AuthActions }} Ui */
/** @typedef {((options: object) => Ui) & { presets: { apis: unknown }, plugins: { DownloadUrl: unknown } }} Bundle */
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: Bundle }} */ (/** @type {unknown} */ (window))

// By itself, Swagger UI changes its colours only with a button.
const dark = matchMedia('(prefers-color-scheme: dark)')
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followSystem)
followSystem()

/** The name of the security scheme in the document. */
const SCHEME = 'token'

/** Of the last log-in that was tried here. */
let username = ''

const ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  layout: 'BaseLayout',
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  requestInterceptor: noteUsername,
  responseInterceptor: useTokenOfLogin,
  onComplete: shareSession,
})

/** Sends the token of the web page, which may be open in another tab, with all calls. */
function shareSession() {
  startSession({
    began: ({ token }) => ui.preauthorizeApiKey(SCHEME, token),
    endedElsewhere: () => ui.authActions.logout([SCHEME]),
  })
  askOtherTabs()
}

/** @param {{ url: string, body?: string }} request */
function noteUsername(request) {
  if (isLogin(request.url)) username = /"username"\s*:\s*"([^"\\]*)"/.exec(request.body ?? '')?.[1] ?? ''
  return request
}

/**
 * Sends the token of a successful login with further calls.
 * @template {LoginResponse} T
 * @param {T} response
 */
function useTokenOfLogin(response) {
  const { url, ok, headers, obj } = response
  if (ok && obj && isLogin(url)) beginSession(obj.data.token, username, headers.date ?? null)
  return response
}

/** @param {string} url */
function isLogin(url) {
  return new URL(url, location.href).pathname.endsWith('/token')
}
