import { Module } from '@nestjs/common'
import { JwtModule } from '@nestjs/jwt'
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm'
import { TOKEN_LIFETIME } from '../messages.js'
import { readSettings } from '../settings.js'
import { Book } from './book.entity.js'
import { BooksController } from './books.controller.js'
import { BooksService } from './books.service.js'
import { TokenController } from './token.controller.js'

const settings = readSettings(process.env)

/** SQLite as durable as the others: better-sqlite3 is built with synchronous=NORMAL as its default in WAL mode. */
const database: TypeOrmModuleOptions = settings.database.startsWith('postgres:')
  ? { type: 'postgres', url: settings.database }
  : {
      type: 'better-sqlite3',
      database: settings.database,
      enableWAL: true,
      prepareDatabase: (connection: { pragma(text: string): void }) =>
        connection.pragma('synchronous = FULL'),
    }

@Module({
  imports: [
    JwtModule.register({
      secret: settings.secret,
      signOptions: { algorithm: 'HS256', expiresIn: TOKEN_LIFETIME, noTimestamp: true },
      verifyOptions: { algorithms: ['HS256'] },
    }),
    TypeOrmModule.forRoot({ ...database, entities: [Book], synchronize: settings.initialise }),
    TypeOrmModule.forFeature([Book]),
  ],
  controllers: [TokenController, BooksController],
  providers: [BooksService],
})
export class AppModule {}
