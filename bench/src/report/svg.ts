import { Error as errorsOnly, logger, parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'

/** Draws a plot. @param title says what it shows to those who cannot see it. */
export async function svg(spec: TopLevelSpec, title: string): Promise<string> {
  const view = new View(parse(compile(spec, { logger: logger(errorsOnly) }).spec), { renderer: 'none' })
  const text = await view.toSVG()
  view.finalize()
  return text.replace('>', `><title>${title}</title>`)
}
