/** @typedef {{ url: string, ok: boolean, obj?: { data: { token: string } } }} LoginResponse */
/** @typedef {{ preauthorizeApiKey(scheme: string, key: string): void }} Ui */
/** @typedef {((options: object) => Ui) & { presets: { apis: unknown }, plugins: { DownloadUrl: unknown } }} Bundle */
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: Bundle }} */ (/** @type {unknown} */ (window))

// By itself, Swagger UI changes its colours only with a button.
const dark = matchMedia('(prefers-color-scheme: dark)')
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followSystem)
followSystem()

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
  responseInterceptor: useTokenOfLogin,
})

/**
 * Sends the token of a successful login with further calls.
 * @template {LoginResponse} T
 * @param {T} response
 */
function useTokenOfLogin(response) {
  const { url, ok, obj } = response
  if (ok && obj && new URL(url).pathname.endsWith('/token')) ui.preauthorizeApiKey('token', obj.data.token)
  return response
}
