import assert from 'node:assert/strict'
import { copyFileSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import dashboard from '../../deploy/grafana-dashboard.json' with { type: 'json' }
import { freePort } from '../support/free-port.ts'
import { ROOT, run } from '../support/npm.ts'
import { findProgram } from '../support/program.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'
import { temporaryDirectory } from '../support/service.ts'
import { until } from '../support/until.ts'
import { useService } from '../support/use-service.ts'

const RULES = join(ROOT, 'deploy/prometheus-rules.yml')
const TESTS = join(import.meta.dirname, 'prometheus-rules.test.yml')

const PROMETHEUS = findProgram('prometheus')
const PROMTOOL = findProgram('promtool')

/** The labels of a series and their values. */
type Labels = Readonly<Record<string, string>>

describe('deploy/prometheus-rules.yml', { skip: PROMTOOL.missing }, () => {
  it('has alerts that fire when they should', (t) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    for (const file of [RULES, TESTS]) copyFileSync(file, join(directory.path, basename(file)))
    run(PROMTOOL.file, ['test', 'rules', basename(TESTS)], { cwd: directory.path })
    const alerts = Array.from(readFileSync(RULES, 'utf8').matchAll(/alert: (\w+)/g), ([, name]) => name)
    const fired = readFileSync(TESTS, 'utf8').matchAll(/alertname: (\w+)\n +exp_alerts:\n/g)
    assert.deepEqual(
      alerts,
      Array.from(fired, ([, name]) => name),
    )
  })
})

describe('a Prometheus that scrapes the service', { skip: PROMETHEUS.missing || PROMTOOL.missing }, () => {
  const directory = new ServerDirectory()
  const service = useService(useEveryRoute, { METRICS_PORT: '0' })
  let url: string
  let metricsUrl: string
  let prometheus: ServerProcess | undefined

  async function useEveryRoute() {
    const id = await service.createBook()
    for (const path of ['/books', `/book/${id}`])
      await (await fetch(service.url + path, { headers: { authorization: service.token } })).text()
  }

  before(async () => {
    metricsUrl = /"url":"([^"]*\/metrics)"/.exec(service.output())?.[1] ?? assert.fail(service.output())
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const config = `global: { scrape_interval: 1s }
scrape_configs:
  - job_name: book-catalogue
    static_configs: [{ targets: ["${new URL(metricsUrl).host}"] }]
rule_files: ["${RULES}"]
`
    prometheus = await ServerProcess.started({
      file: PROMETHEUS.file,
      args: [
        `--config.file=${directory.write('prometheus.yml', config)}`,
        `--storage.tsdb.path=${directory.join('data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      ready: /Server is ready to receive web requests/,
      directory,
    })
  })
  after(() => prometheus?.remove() ?? directory.remove())

  /** Asks until there is a response: the rate of anything needs two scrapes. */
  function query(expression: string): Promise<Labels[]> {
    return until(`something is found by ${expression}`, async () => {
      const response = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expression })}`)
      const answer = (await response.json()) as { error?: string; data?: { result: { metric: Labels }[] } }
      assert.equal(response.status, 200, `${expression}: ${answer.error}`)
      const found = answer.data?.result ?? []
      return found.length > 0 && found.map(({ metric }) => metric)
    })
  }

  it('has nothing to say about the form of the metrics', async () => {
    const metrics = directory.write('metrics', await (await fetch(metricsUrl)).text())
    run('sh', ['-c', '"$0" check metrics < "$1"', PROMTOOL.file, metrics])
  })

  it('has what the dashboard shows', async () => {
    for (const { expr, legendFormat } of dashboard.panels.flatMap(({ targets }) => targets)) {
      const found = await query(expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'))
      for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(
          found.some((labels) => labels[label]),
          `${expr}: no label ${label}`,
        )
    }
  })

  it('has every series with which the alerts are tested', async () => {
    const all = Array.from(readFileSync(TESTS, 'utf8').matchAll(/series: '(\w+)\{(.*)\}'/g))
    assert.ok(all.length > 10)
    for (const [, name, labels = ''] of all) {
      // No request has failed here, and a database server has other parts.
      const selector = labels.replaceAll(/(instance|method|status|part)="[^"]*"/g, '$1!=""')
      await query(`${name}{${selector}}`)
    }
  })
})
