import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseDbUrl } from '../../../src/store/db-url.ts'

/** What providers of databases print for their customers to copy, with other passwords. */
const POSTGRES: Record<string, { readonly url: string; readonly tls?: string; readonly user: string }> = {
  Neon: {
    url: 'postgresql://alex:AbC123dEf@ep-cool-darkness-a1b2c3d4-pooler.us-east-2.aws.neon.tech/dbname?sslmode=require&channel_binding=require',
    tls: 'require',
    user: 'alex',
  },
  'Neon for clients without SNI': {
    url: 'postgresql://alex:AbC123dEf@ep-cool-darkness-a1b2c3d4.us-east-2.aws.neon.tech/dbname?sslmode=require&options=endpoint%3Dep-cool-darkness-a1b2c3d4',
    tls: 'require',
    user: 'alex',
  },
  Supabase: {
    url: 'postgresql://postgres:AbC123dEf@db.abcdefghijklmnopqrst.supabase.co:5432/postgres',
    user: 'postgres',
  },
  'Supabase, its pooler for Prisma': {
    url: 'postgresql://postgres.abcdefghijklmnopqrst:AbC123dEf@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true',
    user: 'postgres.abcdefghijklmnopqrst',
  },
  'Supabase on Vercel': {
    url: 'postgres://postgres.abcdefghijklmnopqrst:AbC123dEf@aws-0-us-east-1.pooler.supabase.com:6543/postgres?sslmode=require&supa=base-pooler.x',
    tls: 'require',
    user: 'postgres.abcdefghijklmnopqrst',
  },
  'Heroku Postgres': {
    url: 'postgres://u1a2b3c4:pAbC123dEf@c7u1tn6bvvsodf.cluster-czz5s0kz4scl.eu-west-1.rds.amazonaws.com:5432/d1a2b3c4',
    user: 'u1a2b3c4',
  },
  Render: {
    url: 'postgresql://books_user:AbC123dEf@dpg-abc123def-a.frankfurt-postgres.render.com/books_db',
    user: 'books_user',
  },
  Aiven: {
    url: 'postgres://avnadmin:AVNS_AbC123dEf@pg-1a2b3c-books.a.aivencloud.com:12691/defaultdb?sslmode=require',
    tls: 'require',
    user: 'avnadmin',
  },
  DigitalOcean: {
    url: 'postgresql://doadmin:AVNS_AbC123dEf@db-postgresql-fra1-12345-do-user-123-0.b.db.ondigitalocean.com:25060/defaultdb?sslmode=require',
    tls: 'require',
    user: 'doadmin',
  },
  'PlanetScale Postgres': {
    url: 'postgresql://pscale_api_abc.def:pscale_pw_AbC123@eu-central-1.pg.psdb.cloud:6432/postgres?sslmode=verify-full&sslrootcert=system',
    tls: 'verify-full',
    user: 'pscale_api_abc.def',
  },
  'AWS RDS': {
    url: 'host=books.abc123.eu-central-1.rds.amazonaws.com port=5432 dbname=books user=jane password=AbC123dEf sslrootcert=/certs/global-bundle.pem sslmode=verify-full',
    tls: 'verify-full',
    user: 'jane',
  },
  'Azure, with its own form of user': {
    url: 'postgresql://jane%40books:AbC123dEf@books.postgres.database.azure.com:5432/postgres?sslmode=require',
    tls: 'require',
    user: 'jane@books',
  },
  'Google Cloud SQL': {
    url: 'postgresql://jane:AbC123dEf@localhost/books?host=/cloudsql/project:europe-west1:books',
    user: 'jane',
  },
  CockroachDB: {
    url: 'postgresql://jane:AbC123dEf@books-1234.8nj.gcp-europe-west1.cockroachlabs.cloud:26257/defaultdb?sslmode=verify-full',
    tls: 'verify-full',
    user: 'jane',
  },
  Fly: {
    url: 'postgres://postgres:AbC123dEf@books-db.flycast:5432/books?sslmode=disable',
    tls: 'disable',
    user: 'postgres',
  },
  Railway: { url: 'postgresql://postgres:AbC123dEf@monorail.proxy.rlwy.net:12345/railway', user: 'postgres' },
  Scalingo: {
    url: 'postgres://books_123:AbC123dEf@books-123.postgresql.a.osc-fr1.scalingo-dbs.com:30000/books_123?sslmode=prefer',
    user: 'books_123',
  },
}

const MYSQL: typeof POSTGRES = {
  Aiven: {
    url: 'mysql://avnadmin:AVNS_AbC123dEf@mysql-1a2b3c-books.a.aivencloud.com:12691/defaultdb?ssl-mode=REQUIRED',
    tls: 'require',
    user: 'avnadmin',
  },
  DigitalOcean: {
    url: 'mysql://doadmin:AVNS_AbC123dEf@db-mysql-fra1-12345-do-user-123-0.b.db.ondigitalocean.com:25060/defaultdb?ssl-mode=REQUIRED',
    tls: 'require',
    user: 'doadmin',
  },
  'JawsDB on Heroku': {
    url: 'mysql://abc123:def456@z12itfj4c1vgopf8.cbetxkdyhwsb.us-east-1.rds.amazonaws.com:3306/ghi789',
    user: 'abc123',
  },
  Railway: { url: 'mysql://root:AbC123dEf@monorail.proxy.rlwy.net:12345/railway', user: 'root' },
  'AWS RDS': {
    url: 'mysql://jane:AbC123dEf@books.abc123.eu-central-1.rds.amazonaws.com:3306/books?ssl-mode=VERIFY_IDENTITY&ssl-ca=/certs/global-bundle.pem',
    tls: 'verify-full',
    user: 'jane',
  },
  'Azure, with its own form of user': {
    url: 'mysql://jane@books:AbC123dEf@books.mysql.database.azure.com:3306/books?ssl-mode=REQUIRED',
    tls: 'require',
    user: 'jane@books',
  },
  'Google Cloud SQL': {
    url: 'mysql://jane:AbC123dEf@localhost/books?socket=/cloudsql/project:europe-west1:books',
    user: 'jane',
  },
}

for (const [engine, urls] of [
  ['postgres', POSTGRES],
  ['mysql', MYSQL],
] as const) {
  describe(`the URLs of providers of ${engine}`, () => {
    for (const [provider, { url, tls = 'prefer', user }] of Object.entries(urls)) {
      it(`are read: ${provider}`, () => {
        const dbUrl = parseDbUrl(url)
        assert.ok(dbUrl.engine !== 'sqlite')
        assert.equal(dbUrl.engine, engine)
        assert.equal(dbUrl.target.user, user)
        assert.equal(dbUrl.target.tls.mode, tls)
      })
    }
  })
}
