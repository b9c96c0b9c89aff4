import uPlot from 'uplot'

/** @typedef {{ accent: string, text: string, line: string }} Colours */

// Loaded only now, because most visits do not need these either.
await Promise.all(
  ['uplot/dist/uPlot.min.css', 'charts.css'].map((path) => {
    const sheet = document.createElement('link')
    sheet.rel = 'stylesheet'
    sheet.href = new URL(path, import.meta.url).href
    document.head.append(sheet)
    return new Promise((resolve, reject) => {
      sheet.onload = resolve
      sheet.onerror = () => reject(new TypeError(`${path} cannot be loaded`))
    })
  }),
)

/** Sizes in pixels that charts.css repeats, so that the buttons lie on the bars. */
const [LABELS, PADDING, ROW] = [26, 6, 26]
/** The least and the greatest width of a decade, in pixels. */
const [NARROWEST, WIDEST] = [44, 90]
const HEIGHT = 190
/** The height for the numbers above the bars, in pixels. */
const ABOVE = 20
/** The width for the numbers of books behind the bars of authors, in pixels. */
const NUMBERS = 92

const FONT = '12px system-ui, sans-serif'
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' })
/** Distances between grid lines, in whole books. */
const STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/**
 * Draws vertical bars, one for each label.
 * @param {HTMLElement} host @param {readonly string[]} labels @param {readonly number[]} counts
 * @param {number} available the preferred width in pixels; the bars may need more or less.
 * @returns the width of the part with the bars, in pixels.
 */
export function drawColumns(host, labels, counts, available) {
  const count = labels.length
  const isWide = count * NARROWEST + 2 * PADDING > available
  const space = available - PADDING
  // If the bars scroll, a whole number of them fits into sight.
  const width = isWide
    ? Math.round((count * space) / Math.floor(space / NARROWEST)) + 2 * PADDING
    : Math.min(available, count * WIDEST + 2 * PADDING)
  const colours = coloursOf(host)
  draw(host, counts, {
    width,
    height: HEIGHT,
    padding: [ABOVE, PADDING, 0, PADDING],
    scales: { x: places(count), y: { range: (_, _min, most) => [0, most] } },
    axes: [{ ...named(labels, colours), size: LABELS, gap: 2 }, { show: false }],
    hooks: { draw: [(plot) => writeCounts(plot, counts, colours)] },
    series: [{}, bar(colours)],
  })
  return width - 2 * PADDING
}

/**
 * Draws horizontal bars from the top down, with space for names before them and for numbers behind them.
 * @param {HTMLElement} host @param {readonly number[]} counts @param {number} width
 * @param {number} names the width of the space for the names.
 */
export function drawRows(host, counts, width, names) {
  const colours = coloursOf(host)
  draw(host, counts, {
    width,
    height: counts.length * ROW + LABELS,
    padding: [0, NUMBERS, 0, names],
    scales: {
      x: { ...places(counts.length), ori: 1, dir: -1 },
      y: { ori: 0, range: (_, _min, most) => [0, most] },
    },
    axes: [{ show: false }, { ...numbered(colours), side: 2, size: LABELS, gap: 2, space: 60 }],
    series: [{}, bar(colours)],
  })
}

/**
 * Writes above each bar, because an axis would scroll out of sight with many decades.
 * @param {uPlot} plot @param {readonly number[]} counts @param {Colours} colours
 */
function writeCounts(plot, counts, { text }) {
  const { ctx } = plot
  ctx.save()
  ctx.fillStyle = text
  ctx.font = FONT.replace('12px', `${12 * devicePixelRatio}px`)
  ctx.textAlign = 'center'
  ctx.textBaseline = 'bottom'
  for (const [place, count] of counts.entries())
    ctx.fillText(
      COMPACT.format(count),
      plot.valToPos(place, 'x', true),
      plot.valToPos(count, 'y', true) - 3 * devicePixelRatio,
    )
  ctx.restore()
}

/** @param {HTMLElement} host @param {readonly number[]} counts @param {uPlot.Options} options */
function draw(host, counts, options) {
  host.replaceChildren()
  const data = [counts.map((_, place) => place), [...counts]]
  new uPlot(
    { ...options, legend: { show: false }, cursor: { show: false } },
    /** @type {uPlot.AlignedData} */ (data),
    host,
  )
}

/** A scale on which every bar has the same space. @param {number} count @returns {uPlot.Scale} */
const places = (count) => ({ time: false, range: [-0.5, count - 0.5] })

/** @param {readonly string[]} labels @param {Colours} colours @returns {uPlot.Axis} */
const named = (labels, { text }) => ({
  stroke: text,
  font: FONT,
  grid: { show: false },
  ticks: { show: false },
  splits: labels.map((_, place) => place),
  values: [...labels],
})

/** @param {Colours} colours @returns {uPlot.Axis} */
const numbered = ({ text, line }) => ({
  stroke: text,
  font: FONT,
  grid: { stroke: line, width: 1 },
  ticks: { show: false },
  incrs: STEPS,
  values: (_, splits) => splits.map((split) => COMPACT.format(split)),
})

/** @param {Colours} colours @returns {uPlot.Series} */
const bar = ({ accent }) => ({
  fill: accent,
  width: 0,
  points: { show: false },
  ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 48] }) }),
})

/**
 * A canvas cannot use style sheets, so charts.css passes its colours in properties of the host without other use there.
 * @param {HTMLElement} host @returns {Colours}
 */
function coloursOf(host) {
  const { color, caretColor, borderTopColor } = getComputedStyle(host)
  return { accent: color, text: caretColor, line: borderTopColor }
}
