// Gin with GORM on PostgreSQL, as Go tutorials build it: a global handle of the database with its own pool, a
// middleware for the token, and validation by Gin's binding. Go runs it on all cores.
package main

import (
	"log"
	"os"

	"github.com/gin-gonic/gin"
)

func main() {
	connectDatabase(os.Getenv("DATABASE"), os.Getenv("INITIALISE") == "yes")

	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.Recovery())
	router.POST("/token", logIn)

	books := router.Group("/", requireToken)
	books.POST("/book", createBook)
	books.GET("/books", listBooks)
	books.GET("/book/:id", findBook)
	books.PUT("/book/:id", updateBook)
	books.DELETE("/book/:id", deleteBook)

	log.Fatal(router.Run(os.Getenv("HOST") + ":" + os.Getenv("PORT")))
}
